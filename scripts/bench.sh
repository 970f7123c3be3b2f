#!/usr/bin/env bash
# Measures Satrap beside what limits it, figure and limit in turn in the same run:
#   scripts/bench.sh [--quick] [--bin FOLDER] NAME...
#
# NAME is one of
#   nn           a training step of a DLRM on one core
#   store        lookups and updates of the embedding store, and its memory
#   transport    rings between two ranks
#   end-to-end   whole jobs on this machine
#   all          all of these
#
# Prints one line per figure:
#   bench,<name>,<value>,<unit>,<limit or peer>,<its value>,<ratio>,<target of the ratio, or - for none>
# docs/benchmarks.md tells what they mean and what was measured.
#
# --quick        a few seconds each, to see that the benchmarks work; the values mean little
# --bin FOLDER   use the programs that are in FOLDER; without it the release preset is built first
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' scripts/bench.sh; }
refuse() { echo "bench.sh: $1; scripts/bench.sh --help tells what can be said" >&2; exit 2; }

quick=
bin=
names=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit ;;
    --quick) quick=1 ;;
    --bin) [ $# -gt 1 ] || refuse "--bin without a folder"; bin=$2; shift ;;
    nn | store | transport | end-to-end) names+=("$1") ;;
    all) names+=(nn store transport end-to-end) ;;
    *) refuse "'$1' is not a benchmark" ;;
  esac
  shift
done
[ ${#names[@]} -gt 0 ] || refuse "no benchmark named"

if [ -z "$bin" ]; then
  bin=build/release/bin
  scripts/build.sh release "${names[@]/#/bench-}" >&2
fi
# As root (in a container, say) Open MPI wants to be told twice.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

for name in "${names[@]}"; do
  case $name in
    nn) "$bin/bench-nn" ;;
    store) "$bin/bench-store" ${quick:+--bytes=67108864 --seconds=0.2} ;;
    transport) mpirun -n 2 --oversubscribe --bind-to none "$bin/bench-transport" ;;
    end-to-end)
      scratch=$(mktemp -d)
      "$bin/bench-end-to-end" --satrap "$bin/satrap" --config benchmarks/system/end_to_end.ini \
        --scratch "$scratch" ${quick:+--samples 20480 --repetitions 1} ||
        { code=$?; echo "bench.sh: the files of the run are in $scratch" >&2; exit $code; }
      rm -r "$scratch"
      ;;
  esac
done
