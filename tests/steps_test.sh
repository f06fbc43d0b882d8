#!/usr/bin/env bash
# Tests of cmake/steps.sh: progress, exit codes and times. Exit code 1 if a line is not as expected.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=cmake/steps.sh
source cmake/steps.sh
# shellcheck source=tests/shell_test.sh
source tests/shell_test.sh
# shellcheck disable=SC2034  # steps.sh reads it
progress_s=1

# expect PATTERN TEXT: fails unless a line of the text matches.
expect() {
  grep -qE -- "$1" <<<"$2" || fail "expected a line like: $1" "found:" "$2"
}

work() {
  printf 'a line of words\n[7/322] Building x.cpp.o\nwarning: not progress\n'
  sleep 4
}

fail() {
  echo "why it failed"
  return 3
}

shown=$(log_to "$folder/build.log" work)
expect '^ +[0-9]+ s  \[7/322\] Building x\.cpp\.o$' "$shown"
expect '^warning: not progress$' "$(cat "$folder/build.log")"

words() {
  echo "Unpacking openmpi"
  sleep 4
}
expect '^ +[0-9]+ s  Unpacking openmpi$' "$(log_to "$folder/words.log" words)"

tests() {
  printf ' 3/12 Test  #4: rules.Holds ....   Passed    0.01 sec\n'
  sleep 4
}
expect '^ +[0-9]+ s  3/12 Test  #4: rules\.Holds$' "$(log_to "$folder/tests.log" tests)"

code=0
shown=$(quietly "$folder/fail.log" fail 2>&1) || code=$?
expect '^3$' "$code"
expect '^why it failed$' "$shown"
expect '^fail: failed with exit code 3; its output stands above and in ' "$shown"

step "first" sleep 1 >/dev/null
shown=$(print_times)
expect '^first +[1-9][0-9]*$' "$shown"
expect '^all +[1-9][0-9]*$' "$shown"
