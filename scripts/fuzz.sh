#!/usr/bin/env bash
# Builds a fuzzer with Clang and runs it; what it finds lies in build/fuzz as crash-* and is run again by
# giving its path to the program. Ends with 77, for "skipped", where there is no Clang with libFuzzer.
#   scripts/fuzz.sh [NAME] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-store_import}
seconds=${2:-60}

if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
  clang++ -x c++ -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null; then
  echo "fuzz.sh: no Clang with libFuzzer: skipped (Debian: apt install clang libclang-rt-14-dev)" >&2
  exit 77
fi
mkdir -p "build/fuzz/corpus-$name"
cmake --preset fuzz >build/fuzz/configure.log 2>&1 || { cat build/fuzz/configure.log >&2; exit 1; }
cmake --build --preset fuzz --target "fuzz.$name"
cd build/fuzz
exec "tests/fuzz/fuzz.$name" -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=4096 "corpus-$name"
