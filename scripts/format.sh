#!/usr/bin/env bash
# Formats all C++ files with clang-format, or with --check only tells which are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
arguments=(-i)
[ "${1:-}" = --check ] && arguments=(--dry-run -Werror)
find src apps tests benchmarks -name '*.hpp' -o -name '*.cpp' | xargs -P 2 -n 40 clang-format "${arguments[@]}"
