#!/usr/bin/env bash
# Configures and builds a preset (release by default), installing what is missing.
#   scripts/build.sh [release|debug|asan] [target ...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true

scripts/install.sh
log=build/$preset/configure.log
mkdir -p "build/$preset"
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset "$preset" ${*:+--target "$@"}
