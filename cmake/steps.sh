# shellcheck shell=bash
# Timed steps for quickstart and check, and other functions for them. To be sourced by bash.

step_names=()
step_seconds=()

# step NAME COMMAND...: runs the command under a heading and records its duration.
step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@"
  step_names+=("$name")
  step_seconds+=($((SECONDS - start)))
}

print_times() {
  local i total=0
  printf '\n%-32s %8s\n' "step" "seconds"
  for i in "${!step_names[@]}"; do
    printf '%-32s %8d\n' "${step_names[i]}" "${step_seconds[i]}"
    total=$((total + step_seconds[i]))
  done
  printf '%-32s %8d\n' "all" "$total"
}

# quietly LOG COMMAND...: runs the command with its output in LOG, and shows the output only if the command fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 && return
  local code=$?
  cat "$log" >&2
  printf '%s: failed with exit code %d; its output stands above and in %s\n' "$1" "$code" "$log" >&2
  return "$code"
}

# Open MPI refuses to run as root unless both variables are set.
allow_mpi_as_root() {
  if ((EUID == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}
