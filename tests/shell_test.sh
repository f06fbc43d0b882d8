# shellcheck shell=bash
# What tests in bash share: a folder of their own, and an end with a reason. To be sourced.

folder=$(mktemp -d)
# shellcheck disable=SC2034  # the scripts that source this use it
readonly folder
trap 'rm -rf "$folder"' EXIT

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}
