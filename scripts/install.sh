#!/usr/bin/env bash
# Installs what Satrap builds and runs with, all of it Debian 12 packages. Does nothing when all is there.
#   scripts/install.sh [--fuzz]    (with --fuzz also Clang and libFuzzer, for scripts/fuzz.sh)
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config clang-format
  openmpi-bin libopenmpi-dev libhdf5-dev hdf5-tools libboost-program-options-dev libdnnl-dev
  libhwy-dev librandom123-dev libxxhash-dev libfmt-dev libspdlog-dev nlohmann-json3-dev zlib1g-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
[ "${1:-}" = --fuzz ] && packages+=(clang libclang-rt-14-dev)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing: ${missing[*]}"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install.sh: sudo is needed to install packages; run as root or install sudo" >&2; exit 1; }
  sudo=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
