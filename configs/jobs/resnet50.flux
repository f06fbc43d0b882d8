#!/bin/bash
# A run of resnet50 on 16 nodes with 2 ranks each. Written by trainmark script.
#
#   submit    flux batch SCRIPT
#   follow    flux jobs; trainmark status results
#   end       flux proxy JOB flux job killall --force --signal=SIGUSR2
#   go on     flux batch --env=RESUME_JOB=JOB SCRIPT
#
# SCRIPT is this file and JOB the job's number. Paths start in the folder that it is submitted from.
# Before the time limit the run saves itself; the job is queued again and goes on.
# The exit code is trainmark's: 0 means that the target was reached, 6 that it was missed. A job that follows in
# either case depends on the end of this one, not on its success.
#flux: --job-name=resnet50
#flux: --nodes=16
#flux: --exclusive
#flux: --time-limit=28800s
#flux: --output=resnet50-{{id}}.out
# shellcheck disable=SC2317 # what traps call

set -u
batch_job=$(FLUX_F58_FORCE_ASCII=1 flux getattr jobid) ||
  { echo 'submit this with flux batch' >&2; exit 2; }

trainmark=trainmark
config=configs/resnet50/mlperf_8192.json
nodes=16
ranks_per_node=2
cpus_per_rank=32
time_limit_s=28800
most_restarts=10
job=$batch_job
# What outlives a start of this job: how it gets on, and what the run has saved.
chain=${RESUME_JOB:-$job}
folder=results/jobs/${chain//[^[:alnum:]._-]/_}
# Samples that are copied lie in this folder of each node, which is removed at the end.
scratch=${TMPDIR:-/tmp}/trainmark-${job//[^[:alnum:]._-]/_}

# Threads are not pinned: those that read samples would share the core of the thread that starts them.
export OMP_NUM_THREADS=$cpus_per_rank OMP_PROC_BIND=false

# Of the configuration.
changes=(
  --set "staging.directory=$scratch"
  --set "checkpoint.directory=$folder/checkpoints"
  --set checkpoint.every_minutes=10
)

# Starts a command on all ranks.
ranks=(flux run --nodes="$nodes" --ntasks="$((nodes * ranks_per_node))" --cores-per-task="$cpus_per_rank"
  -o exit-on-error -o cpu-affinity=per-task)

say() { echo "$(date '+%F %T') $*"; }

# STATE [EXIT CODE]: how this job gets on, for those who do not ask the scheduler.
tell() {
  printf '{"scheduler": "flux", "job": "%s", "host": "%s", "state": "%s", "exit_code": %s, "restarts": %d, ' \
    "$job" "$HOSTNAME" "$1" "${2:-null}" "$restarts" >"$folder/job.state.new"
  printf '"started_s": %d, "limit_s": %d, "changed_s": %d}\n' \
    "$began" "$((began + time_limit_s))" "$(date +%s)" >>"$folder/job.state.new"
  mv "$folder/job.state.new" "$folder/job.state"
}

children=()
asked=nobody

# COMMAND...: starts it in the background.
start() {
  "$@" &
  children+=($!)
}

# Until all that was started has ended. A signal interrupts `wait` and stands in for the exit code, so `wait` is asked
# again. Sets code: the first that is not 0.
await() {
  local child one
  code=0
  for child in "${children[@]}"; do
    while kill -0 "$child" 2>/dev/null; do wait "$child"; done
    wait "$child"
    one=$?
    ((code != 0)) || code=$one
  done
  children=()
}

# WHO: the run saves itself and ends after the steps under way. The launcher passes USR2 on to all ranks.
ask_to_end() {
  local child
  [[ $asked == limit ]] || asked=$1
  say "asked to end by: $1"
  flux job killall --force --signal=SIGUSR2 2>/dev/null
}
trap 'ask_to_end limit' USR1
# Were they not trapped, this script would end by them, and the ranks with it, before they have saved anything.
trap 'ask_to_end somebody' USR2 TERM INT

clean_up() {
  pkill -P "$warning" 2>/dev/null
  kill "$warning" 2>/dev/null
  timeout 30 flux exec -r all \
    rm -rf -- "$scratch" >/dev/null 2>&1 || rm -rf -- "$scratch"
}

# EXIT CODE: ends this job.
leave() {
  clean_up
  tell ended "$1"
  exit "$1"
}

# EXIT CODE: ends this start of the job, and has it started again.
queue_again() {
  say "to be started again: $((restarts + 1)) of at most $most_restarts restarts"
  clean_up
  tell queued "$1"
  trap '' USR1 USR2 TERM INT
  flux --parent batch --env="RESUME_JOB=$chain" "$0" && exit 0
  say "the scheduler refused"
}

mkdir -p "$folder" || exit 4
began=$(date +%s)
echo "$began $HOSTNAME" >>"$folder/starts"
restarts=$(($(wc -l <"$folder/starts") - 1))
tell running
say "start $((restarts + 1)) of job $job on $HOSTNAME"

# Flux itself gives this script no warning of the time limit.
{ sleep 28680 && kill -USR1 $$; } </dev/null >/dev/null 2>&1 &
warning=$!

command -v "$trainmark" >/dev/null || { say "no program $trainmark: see --program"; leave 2; }

# What cannot work fails now, before anything is written or waited for.
start timeout 300 "${ranks[@]}" "$trainmark" doctor "$config" "${changes[@]}" --quick
await
if [[ $asked == nobody ]] && ((code != 0)); then say "doctor ended with $code"; leave "$code"; fi
start timeout 300 "${ranks[@]}" "$trainmark" run "$config" "${changes[@]}" \
  --dry-run --json "$folder/plan.json"
await
if [[ $asked == nobody ]] && ((code != 0)); then say "the plan ended with $code"; leave "$code"; fi

if [[ $asked != nobody ]]; then
  code=7 # before it began
else
  launched=$(date +%s)
  start "${ranks[@]}" "$trainmark" run "$config" "${changes[@]}" --resume-or-start
  [[ $asked == nobody ]] || ask_to_end "$asked"
  await
fi
say "ended with exit code $code"

# Whether the run failed within seconds of being launched, as it did at the start before, and has saved nothing since.
fails_again() {
  local before saved
  before=$(cat "$folder/failure" 2>/dev/null)
  rm -f "$folder/failure"
  (($(date +%s) - launched < 120)) || return 1
  saved=$(ls -R "$folder/checkpoints" 2>&1)
  echo "$saved" >"$folder/failure"
  [[ $saved == "$before" ]]
}

again=no
# 7: it has saved itself. 143: some ranks were still ending when the launcher ended them. 140: the signal came before
# the ranks could take it.
if [[ $asked == limit ]] && ((code == 7 || code == 140 || code == 143)); then again=yes; fi
# 4, 137, 143 and 205: a rank, a process or a node was lost.
if [[ $asked == nobody ]] && ((code == 4 || code == 137 || code == 143 || code == 205)); then
  again=yes
  if ((code == 4)) && fails_again; then
    say "failed at once, as the start before: another cannot cure it"
    again=no
  fi
fi
if [[ $again == yes ]] && ((restarts < most_restarts)); then queue_again "$code"; fi
leave "$code"
