#!/usr/bin/env bash
# mpirun that passes SIGTERM on as SIGUSR1, so that a job that is told to end saves first:
#   scripts/mpirun.sh -n 4 build/release/bin/satrap train CONFIG
# Open MPI's own mpirun kills the ranks a second after SIGTERM and returns 1 whatever they do.
# It also leaves the ranks free to use all cores, unless --bind-to says otherwise: mpirun would bind each of two
# ranks to one core, and a trainer has several threads.
# As root (in a container, say) Open MPI wants to be told twice.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
mpirun "$@" &
job=$!
trap 'kill -USR1 $job 2>/dev/null' TERM USR1
# wait returns early when a trap has run.
while kill -0 $job 2>/dev/null; do
  wait $job
  code=$?
done
exit "$code"
