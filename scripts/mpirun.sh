#!/usr/bin/env bash
# mpirun that passes SIGTERM on as SIGUSR1, so that a job that is told to end saves first:
#   scripts/mpirun.sh -n 4 build/release/bin/satrap train CONFIG
# Open MPI's own mpirun kills the ranks a second after SIGTERM and returns 1 whatever they do.
# As root (in a container, say) Open MPI wants to be told twice.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
mpirun "$@" &
job=$!
trap 'kill -USR1 $job 2>/dev/null' TERM USR1
# wait returns early when a trap has run.
while kill -0 $job 2>/dev/null; do
  wait $job
  code=$?
done
exit "$code"
