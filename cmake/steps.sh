# shellcheck shell=bash
# Timed steps for quickstart and check, and other functions for them. To be sourced by bash.

# Seconds between two lines of progress.
progress_s=20
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

# follow LOG: until it is killed or the script ends, prints every $progress_s seconds how far the command is that writes LOG: the
# newest count of ninja or ctest in it, else its last line.
follow() {
  local start=$SECONDS next=$progress_s line
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    ((SECONDS - start < next)) && continue
    next=$((next + progress_s))
    line=$(tail -c 20000 "$1" | grep -aoE '^\[[0-9]+/[0-9]+\] .*|[0-9]+/[0-9]+ Test +#[0-9]+: [^ ]+' | tail -n 1) || true
    [[ -n $line ]] || line=$(grep -av '^ *$' "$1" | tail -n 1) || true
    printf '%5d s  %.100s\n' "$((SECONDS - start))" "$line"
  done
}

# log_to LOG COMMAND...: runs the command with its output in LOG, and says every $progress_s seconds how far it is.
log_to() {
  local log=$1 code=0 follower
  shift
  mkdir -p "$(dirname "$log")"
  : >"$log"
  follow "$log" &
  follower=$!
  "$@" >"$log" 2>&1 || code=$?
  kill "$follower" 2>/dev/null || true
  wait "$follower" 2>/dev/null || true
  return "$code"
}

# quietly LOG COMMAND...: as log_to, and shows the output if the command fails.
quietly() {
  local log=$1 code=0
  log_to "$@" || code=$?
  ((code)) || return 0
  shift
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
