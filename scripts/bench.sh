#!/usr/bin/env bash
# Measures Satrap beside what limits it, figure and limit in turn in the same run:
#   scripts/bench.sh [--quick] [--bin FOLDER] [--peers] [--store-bytes N] NAME...
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
# --peers        store: beside FBGEMM's CPU embedding too. Python packages of some gigabytes are installed in
#                ~/.cache/satrap/peers for it; where that fails it is skipped
# --store-bytes N   store: of the table, 1 GiB by default; twice as much memory is needed
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' scripts/bench.sh; }
refuse() { echo "bench.sh: $1; scripts/bench.sh --help tells what can be said" >&2; exit 2; }

quick=
bin=
peers=
store_bytes=
names=()
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit ;;
    --quick) quick=1 ;;
    --bin) [ $# -gt 1 ] || refuse "--bin without a folder"; bin=$2; shift ;;
    --peers) peers=1 ;;
    --store-bytes) [ $# -gt 1 ] || refuse "--store-bytes without a number"; store_bytes=$2; shift ;;
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

# The folder for what one benchmark leaves behind; kept if it fails.
scratch=$(mktemp -d)
trap 'code=$?; [ $code -eq 0 ] && rm -r "$scratch" || echo "bench.sh: the files of the run are in $scratch" >&2' EXIT

# Sets `python` to one that has FBGEMM; fails if there is none and none can be installed.
find_peers() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/satrap/peers
  python=$folder/bin/python
  if ! "$python" -c 'import torch, fbgemm_gpu, numpy' 2>/dev/null; then
    echo "bench.sh: installing FBGEMM in $folder" >&2
    python3 -m venv "$folder" >&2 &&
      "$python" -m pip install --quiet torch==2.14.* fbgemm-gpu-cpu==1.9.* numpy >&2
  fi
}

bench_store() {
  [ -z "$quick" ] || store_bytes=67108864
  local seconds=${quick:+0.1}
  "$bin/bench-store" ${store_bytes:+--bytes=$store_bytes} ${seconds:+--seconds=$seconds} | tee "$scratch/store"
  [ -n "$peers" ] || return 0
  if find_peers; then
    OMP_NUM_THREADS=1 "$python" benchmarks/store/fbgemm_peer.py "$scratch/store" ${seconds:+--seconds=$seconds}
  else
    echo "# skipped: FBGEMM, which could not be installed"
  fi
}

for name in "${names[@]}"; do
  case $name in
    nn) "$bin/bench-nn" ;;
    store) bench_store ;;
    transport) mpirun -n 2 --oversubscribe --bind-to none "$bin/bench-transport" ;;
    end-to-end)
      "$bin/bench-end-to-end" --satrap "$bin/satrap" --config benchmarks/system/end_to_end.ini \
        --scratch "$scratch" ${quick:+--samples 20480 --repetitions 1}
      ;;
  esac
done
