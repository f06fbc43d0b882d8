// The part of a job script after its directives: settings, functions, preflight, run, restart. bash
// handles signals while it waits for a command.
#include "runner/launch/script_body.h"

#include <fmt/format.h>

#include "runner/launch/shell_word.h"

namespace launch {
namespace {

std::string modules(const JobRequest& request) {
  std::string lines;
  // Before `set -u`: the module functions may use unset variables.
  for (const std::string& module : request.modules) {
    lines += "module load " + shell_word(module) + " || exit 4\n";
  }
  return lines;
}

std::string settings(const JobRequest& request, const SchedulerParts& parts) {
  std::string lines =
      "trainmark=" + shell_word(request.program) + "\nconfig=" + shell_word(request.config) + '\n';
  if (request.is_set()) lines += fmt::format("runs={}\n", request.runs);
  if (request.is_together() || request.starter != Starter::kMpirun) {
    lines += fmt::format("nodes={}\n", request.nodes);
  }
  lines += fmt::format("ranks_per_node={}\ncpus_per_rank={}\ntime_limit_s={}\n",
                       request.ranks_per_node, request.cpus_per_rank, request.time_s);
  if (request.restarts > 0) lines += fmt::format("most_restarts={}\n", request.restarts);
  lines += "job=" + parts.job + "\n";
  if (request.is_array()) lines += "member=" + parts.index + "\n";
  lines += "# What outlives a start of this job: how it gets on, and what the run has saved.\n";
  lines += "chain=${RESUME_JOB:-$job}\n";
  lines += "folder=" + shell_word(request.results) + "/jobs/${chain//[^[:alnum:]._-]/_}\n";
  return lines;
}

std::string scratch(const JobRequest& request, const SchedulerParts& parts) {
  if (request.staging == Staging::kAsConfigured) return "";
  const std::string base = request.scratch.empty() ? parts.scratch : shell_word(request.scratch);
  return "# Samples that are copied lie in this folder of each node, which is removed at the "
         "end.\nscratch=" +
         base + "/trainmark-${job//[^[:alnum:]._-]/_}\n";
}

std::string threads(const JobRequest& request, const SchedulerParts& parts) {
  std::string lines = R"sh(
# Threads are not pinned: those that read samples would share the core of the thread that starts them.
)sh";
  lines += request.spares_cpus
               ? "unset OMP_NUM_THREADS  # as many as `cpus` of the configuration says\n"
                 "export OMP_PROC_BIND=false\n"
               : "export OMP_NUM_THREADS=$cpus_per_rank OMP_PROC_BIND=false\n";
  if (!parts.host_file.empty()) lines += "export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}\n";
  return lines;
}

std::string changes(const JobRequest& request) {
  std::string lines;
  const auto add = [&lines](const std::string& word) { lines += "  --set " + word + '\n'; };
  for (const std::string& one : request.overrides) add(shell_word(one));
  if (request.staging == Staging::kToScratch) add("\"staging.directory=$scratch\"");
  if (!request.is_set()) {
    add("\"checkpoint.directory=$folder/checkpoints\"");
    if (request.checkpoint_minutes > 0) {
      add(fmt::format("checkpoint.every_minutes={}", request.checkpoint_minutes));
    }
  }
  return lines.empty() ? "changes=()\n" : "changes=(\n" + lines + ")\n";
}

std::string run_arguments(const JobRequest& request) {
  if (!request.is_set()) return "--resume-or-start";
  return std::string("--runs \"$runs\" --only \"$member\"") +
         (request.is_together() ? " --together" : "");
}

constexpr char kSay[] = R"sh(
say() { echo "$(date '+%F %T') $*"; }
)sh";

std::string tell(const JobRequest& request) {
  static const char* const names[] = {"slurm", "pbs", "lsf", "flux"};
  return fmt::format(R"sh(
# STATE [EXIT CODE]: how this job gets on, for those who do not ask the scheduler.
tell() {{
  printf '{{"scheduler": "{}", "job": "%s", "host": "%s", "state": "%s", "exit_code": %s, "restarts": %d, ' \
    "$job" "$HOSTNAME" "$1" "${{2:-null}}" "$restarts" >"$folder/job.state.new"
  printf '"started_s": %d, "limit_s": %d, "changed_s": %d}}\n' \
    "$began" "$((began + time_limit_s))" "$(date +%s)" >>"$folder/job.state.new"
  mv "$folder/job.state.new" "$folder/job.state"
}}
)sh",
                     names[static_cast<int>(request.scheduler)]);
}

constexpr char kWaiting[] = R"sh(
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
)sh";

std::string ask_to_end(const JobRequest& request) {
  const std::string send = request.starter == Starter::kFlux
                               ? "flux job killall --force --signal=SIGUSR2 2>/dev/null"
                               : "for child in \"${children[@]}\"; do kill -USR2 \"$child\" "
                                 "2>/dev/null; done";
  const bool saves = !request.is_set();
  return R"sh(
# WHO: the run )sh" +
         std::string(saves ? "saves itself and ends" : "ends") +
         R"sh( after the steps under way. The launcher passes USR2 on to all ranks.
ask_to_end() {
  local child
  [[ $asked == limit ]] || asked=$1
  say "asked to end by: $1"
  )sh" + send +
         R"sh(
}
trap 'ask_to_end limit' USR1
# Were they not trapped, this script would end by them, and the ranks with it, before they have saved anything.
trap 'ask_to_end somebody' USR2 TERM INT
)sh";
}

std::string warning(const JobRequest& request, const SchedulerParts& parts) {
  if (parts.warn.empty()) return "";
  return fmt::format(R"sh(
# {} itself gives this script no warning of the time limit.
{{ sleep {} && kill -USR1 $$; }} </dev/null >/dev/null 2>&1 &
warning=$!
)sh",
                     parts.warn, request.time_s - request.signal_margin_s);
}

std::string clean(const JobRequest& request, const SchedulerParts& parts) {
  std::string body;
  if (!parts.warn.empty()) {
    body += "  pkill -P \"$warning\" 2>/dev/null\n  kill \"$warning\" 2>/dev/null\n";
  }
  if (request.staging == Staging::kToScratch) {
    body += "  timeout 30 " + parts.on_nodes +
            " \\\n    rm -rf -- \"$scratch\" >/dev/null 2>&1 || rm -rf -- \"$scratch\"\n";
  }
  if (body.empty()) return "";
  return "\nclean_up() {\n" + body + "}\n";
}

std::string leave(bool cleans) {
  return std::string(R"sh(
# EXIT CODE: ends this job.
leave() {
)sh") + (cleans ? "  clean_up\n" : "") +
         R"sh(  tell ended "$1"
  exit "$1"
}
)sh";
}

std::string queue_again(const SchedulerParts& parts, bool cleans) {
  return std::string(R"sh(
# EXIT CODE: ends this start of the job, and has it started again.
queue_again() {
  say "to be started again: $((restarts + 1)) of at most $most_restarts restarts"
)sh") + (cleans ? "  clean_up\n" : "") +
         R"sh(  tell queued "$1"
  trap '' USR1 USR2 TERM INT
)sh" + parts.queue_again +
         R"sh(  say "the scheduler refused"
}
)sh";
}

constexpr char kBegin[] = R"sh(
mkdir -p "$folder" || exit 4
began=$(date +%s)
echo "$began $HOSTNAME" >>"$folder/starts"
restarts=$(($(wc -l <"$folder/starts") - 1))
tell running
say "start $((restarts + 1)) of job $job on $HOSTNAME"
)sh";

constexpr char kFindProgram[] = R"sh(
command -v "$trainmark" >/dev/null || { say "no program $trainmark: see --program"; leave 2; }
)sh";

std::string preflight(const JobRequest& request) {
  if (request.preflight == Preflight::kNone) return "";
  std::string lines = "\n# What cannot work fails now, before anything is written or waited for.\n";
  if (request.preflight == Preflight::kDoctor) {
    lines +=
        R"sh(start timeout 300 "${ranks[@]}" "$trainmark" doctor "$config" "${changes[@]}" --quick
await
if [[ $asked == nobody ]] && ((code != 0)); then say "doctor ended with $code"; leave "$code"; fi
)sh";
  }
  lines += R"sh(start timeout 300 "${ranks[@]}" "$trainmark" run "$config" "${changes[@]}" \
  --dry-run --json "$folder/plan.json"
await
if [[ $asked == nobody ]] && ((code != 0)); then say "the plan ended with $code"; leave "$code"; fi
)sh";
  return lines;
}

/// Sets `ranks`, which starts a command on all ranks of a run.
std::string ranks(const JobRequest& request, const SchedulerParts& parts,
                  const std::string& hosts) {
  return "ranks=(" + start_command(request, parts, hosts) + ")\n";
}

/// In a set with a common start every instance has its own nodes.
std::string instances(const JobRequest& request, const SchedulerParts& parts) {
  if (request.starter == Starter::kFlux) return ranks(request, parts, "");
  const bool with_slots = request.starter == Starter::kMpirun;
  return R"sh(
# MEMBER: sets ranks, which starts a command on the nodes of this member of the set.
mapfile -t hosts < <()sh" +
         parts.hosts + R"sh()
place() {
  local mine
  printf -v mine )sh" +
         (with_slots ? "\"%s:$ranks_per_node,\"" : "'%s,'") +
         R"sh( "${hosts[@]:(($1 - 1) * nodes):nodes}"
  )sh" + ranks(request, parts, "${mine%,}") +
         "}\nplace 1\n";
}

std::string run(const JobRequest& request) {
  const std::string command =
      "start \"${ranks[@]}\" \"$trainmark\" run \"$config\" \"${changes[@]}\" " +
      run_arguments(request) + "\n";
  std::string lines = "\nif [[ $asked != nobody ]]; then\n  code=7 # before it began\nelse\n";
  if (request.restarts > 0) lines += "  launched=$(date +%s)\n";
  if (request.is_together()) {
    lines += "  for ((member = 1; member <= runs; ++member)); do\n";
    if (request.starter != Starter::kFlux) lines += "    place \"$member\"\n";
    lines += "    " + command + "  done\n";
  } else {
    lines += "  " + command;
  }
  return lines + R"sh(  [[ $asked == nobody ]] || ask_to_end "$asked"
  await
fi
say "ended with exit code $code"
)sh";
}

/// Exit code 4 means lost ranks or full disks, but also lasting deficiencies of these nodes.
std::string fails_again(const JobRequest& request) {
  const std::string saved = request.is_set() ? "none" : "$(ls -R \"$folder/checkpoints\" 2>&1)";
  return R"sh(
# Whether the run failed within seconds of being launched, as it did at the start before, and has saved nothing since.
fails_again() {
  local before saved
  before=$(cat "$folder/failure" 2>/dev/null)
  rm -f "$folder/failure"
  (($(date +%s) - launched < 120)) || return 1
  saved=)sh" +
         saved + R"sh(
  echo "$saved" >"$folder/failure"
  [[ $saved == "$before" ]]
}
)sh";
}

std::string restart_rule(const JobRequest& request) {
  if (request.restarts == 0) return "";
  std::string lines;
  if (!request.is_set()) {
    lines += R"sh(
# 7: it has saved itself. 143: some ranks were still ending when the launcher ended them. 140: the signal came before
# the ranks could take it.
if [[ $asked == limit ]] && ((code == 7 || code == 140 || code == 143)); then again=yes; fi)sh";
  } else {
    lines += R"sh(
# At its time limit a member would be cut off again: it needs more time, not another start.)sh";
  }
  const bool with_srun = request.starter == Starter::kSrun;
  lines += "\n# 4, 137, 143 and 205: a rank, a process or a node was lost.";
  if (with_srun) lines += " 139: on busy nodes MPI_Init may crash under srun.";
  lines +=
      "\nif [[ $asked == nobody ]] && ((code == 4 || code == 137 || code == 143 || code == 205";
  if (with_srun) lines += " || code == 139";
  return fails_again(request) + "\nagain=no" + lines + R"sh()); then
  again=yes
  if ((code == 4)) && fails_again; then
    say "failed at once, as the start before: another cannot cure it"
    again=no
  fi
fi
if [[ $again == yes ]] && ((restarts < most_restarts)); then queue_again "$code"; fi
)sh";
}

}  // namespace

std::string script_body(const JobRequest& request, const SchedulerParts& parts) {
  const bool cleans = !parts.warn.empty() || request.staging == Staging::kToScratch;
  std::string body = modules(request) + "set -u\n" + parts.enter + '\n';
  body += settings(request, parts) + scratch(request, parts) + threads(request, parts);
  body += "\n# Of the configuration.\n" + changes(request);
  body += request.is_together()
              ? instances(request, parts)
              : "\n# Starts a command on all ranks.\n" + ranks(request, parts, "");
  body += kSay + tell(request) + kWaiting + ask_to_end(request) + clean(request, parts);
  body += leave(cleans);
  if (request.restarts > 0) body += queue_again(parts, cleans);
  body += kBegin + warning(request, parts) + kFindProgram + preflight(request) + run(request);
  body += restart_rule(request);
  if (request.missed == Missed::kSuccess) {
    body +=
        "\n# The run went as it should, though it did not reach its target.\n"
        "((code != 6)) || code=0\n";
  }
  return body + "leave \"$code\"\n";
}

}  // namespace launch
