#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests: the suite of the release build, then the unit tests
# under AddressSanitizer and UndefinedBehaviorSanitizer. Arguments go to ctest of the first run, e.g.
#   scripts/test.sh -R store
#   scripts/test.sh -L long        (the long tests, which the default run leaves out)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release
if [ $# -gt 0 ]; then
  ctest --test-dir build/release --output-on-failure --no-tests=error -j 2 "$@"
  exit
fi
ctest --preset release --no-tests=error -j 2
scripts/build.sh asan unit_tests
ctest --preset asan --no-tests=error -j 2
