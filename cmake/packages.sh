#!/usr/bin/env bash
# Installs the Debian packages that this project needs, by group. Without root, prints the command to run if packages
# are missing, with exit code 2.
#
#   cmake/packages.sh GROUP...          installs the missing packages of these groups
#   cmake/packages.sh --list GROUP...   prints their packages, one per line
set -euo pipefail
# shellcheck source=cmake/steps.sh
source "$(dirname "$0")/steps.sh"

declare -A groups
# To build and run the half that analyses logs: compilers and tools, then libraries. docs/packages.md gives the reason
# for each.
groups[analysis]="
  git g++ cmake ninja-build ccache
  nlohmann-json3-dev libspdlog-dev libfmt-dev libcli11-dev libsqlite3-dev libjs-chart.js"
# To build and run all of it.
groups[build]="${groups[analysis]}
  pkg-config libdnnl-dev ocl-icd-opencl-dev opencl-c-headers
  libopenmpi-dev openmpi-bin libhdf5-openmpi-dev
  libjpeg62-turbo-dev libpng-dev zlib1g-dev libzstd-dev liblz4-dev libxxhash-dev libhwloc-dev libicu-dev"
# To run the tests.
groups[test]="libgtest-dev libgmock-dev libbenchmark-dev libvalijson-dev iproute2 chromium chromium-driver python3-selenium
  slurm-wlm munge mpich shellcheck zsh groff sshfs openssh-sftp-server socat rsync zstd lz4"
# To compare with the reference framework and scikit-learn. Tests that need them are skipped without them.
groups[parity]="python3-torch python3-torchvision python3-h5py python3-sklearn libopenblas0-pthread"
# The tools that files of configs/integrations are for, and what makes Debian packages. Tests skip those that are absent.
# Only one of lmod and environment-modules can be installed.
groups[integrations]="jube prometheus dpkg-dev file"
case $(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME-}") in
  bookworm) groups[integrations]+=" lmod" ;;
  *) groups[integrations]+=" environment-modules" ;;
esac
# To build and test with MPICH in place of Open MPI: preset mpich.
groups[mpich]="libmpich-dev libhdf5-mpich-dev"
# For ./check --all.
groups[thorough]="lintian valgrind clang-19 clang-tidy-19 libclang-rt-19-dev libomp-19-dev clang-format"

packages_of() {
  local group package
  if (($# == 0)); then
    echo "packages.sh: no group given; there are: ${!groups[*]}" >&2
    exit 2
  fi
  for group in "$@"; do
    if [[ -z ${groups[$group]-} ]]; then
      echo "packages.sh: no group '$group'; there are: ${!groups[*]}" >&2
      exit 2
    fi
    for package in ${groups[$group]}; do echo "$package"; done
  done
}

is_installed() {
  [[ $(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) == "install ok installed" ]]
}

# Fetches the package index only if the first attempt fails: the index may be absent, or too old for the mirror.
install() {
  local apt=(apt-get -qq -y -o Dpkg::Use-Pty=0)
  export DEBIAN_FRONTEND=noninteractive
  "${apt[@]}" install --no-install-recommends "$@" && return
  "${apt[@]}" update
  "${apt[@]}" install --no-install-recommends "$@"
}

main() {
  if [[ ${1-} == --list ]]; then
    shift
    packages_of "$@"
    return
  fi
  if ! command -v dpkg-query apt-get >/dev/null; then
    echo "packages.sh: this is not Debian; install the equivalents of:" "$(packages_of "$@" | xargs)" >&2
    exit 2
  fi
  local missing=() package wanted
  wanted=$(packages_of "$@")
  for package in $wanted; do
    is_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    echo "All packages are installed."
    return
  fi
  if ((EUID != 0)); then
    echo "Packages are missing. Run this line, then start again:" >&2
    echo "  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
  echo "Installing ${#missing[@]} packages: ${missing[*]}"
  quietly "$(dirname "$0")/../build/logs/packages.log" install "${missing[@]}" || exit 4
}

main "$@"
