#!/usr/bin/env bash
# Runs the files of configs/integrations with the tool that each is for; skipped (77) where the tool is not installed.
#
#   tools_test.sh TOOL BUILD     TOOL: jube, lmod, environment-modules or python
set -euo pipefail
readonly tool=$1 build=$2 source=$PWD
# shellcheck source=tests/shell_test.sh
source tests/shell_test.sh

skip() {
  printf '%s: Skipped\n%s is not installed\n[  SKIPPED ] %s\n' "$0" "$1" "$tool"
  exit 77
}

test_jube() {
  command -v jube >/dev/null || skip jube
  cd "$folder"
  export TRAINMARK=$build/trainmark LAUNCHER="mpirun --oversubscribe --bind-to none -n" RANKS=1,2
  jube run -o jube_runs "$source/configs/integrations/jube/trainmark.yaml" --tag quick >run.log 2>&1 || fail "$(cat run.log)"
  jube result jube_runs --id last >result.log 2>&1 || fail "$(cat result.log)"
  local rows
  rows=$(grep -cE '^\| *resnet50 *\| *f32 *\| *[12] *\| *[0-9.]+ *\| *[0-9.]+ *\| *[0-9.e-]+ *\|' result.log) || true
  [[ $rows == 2 ]] || fail "expected two rows of figures, found:" "$(cat result.log)" "$(find jube_runs -name stderr -exec cat {} +)"
}

# Puts a module file that names the installed tree where `module` finds it.
add_module() {
  cmake --install "$build" --prefix "$folder/tree" >/dev/null
  mkdir -p "$folder/modules/trainmark"
  sed "s|/opt/trainmark/0.1.0|$folder/tree|" "$source/configs/integrations/modules/$1" >"$folder/modules/trainmark/$2"
}

# check_module INIT: in a shell of its own, which INIT gives the function `module`.
check_module() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  MODULEPATH=$folder/modules bash -c '
    source "$1"
    module use "$2/modules"
    module load trainmark
    [[ $(command -v trainmark) == "$2/tree/bin/trainmark" && -f $TRAINMARK_CONFIGS/resnet50/mlperf.json ]] || exit 1
    module unload trainmark
    [[ -z $(command -v trainmark) && -z ${TRAINMARK_ROOT-} ]]
  ' module "$1" "$folder" >"$folder/log" 2>&1 || fail "the module does not work by $1:" "$(cat "$folder/log")"
}

test_lmod() {
  local init
  init=$(compgen -G '/usr/share/lmod/*/init/bash' | head -n 1) || skip lmod
  add_module trainmark.lua 0.1.0.lua
  check_module "$init"
}

test_environment_modules() {
  [[ -f /usr/share/modules/init/bash ]] || skip environment-modules
  add_module trainmark.tcl 0.1.0
  check_module /usr/share/modules/init/bash
}

# No release of Debian has ReFrame, Ramble or Spack: only the syntax is checked.
test_python() {
  python3 - "$source"/configs/integrations/{reframe,ramble,spack}/*.py <<'PYTHON'
import ast
import pathlib
import sys

for path in sys.argv[1:]:
    ast.parse(pathlib.Path(path).read_text(), path)
PYTHON
}

case $tool in
  jube) test_jube ;;
  lmod) test_lmod ;;
  environment-modules) test_environment_modules ;;
  python) test_python ;;
  *) fail "no test of '$tool'" ;;
esac
