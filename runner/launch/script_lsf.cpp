// Job scripts for LSF.
#include <fmt/format.h>

#include "runner/launch/script_parts.h"

namespace launch {
namespace {

/// Rounded up, as LSF counts whole minutes.
std::string minutes_text(std::int64_t seconds) {
  const std::int64_t minutes = (seconds + 59) / 60;
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

std::vector<std::string> lsf_directives(const JobRequest& request) {
  std::string name = request.name;
  if (request.is_array()) {
    name += fmt::format("[1-{}]", request.runs);
    if (request.at_once > 0) name += fmt::format("%{}", request.at_once);
  }
  std::vector<std::string> lines = {"-J \"" + name + "\""};
  lines.push_back(fmt::format("-n {}", request.all_nodes() * request.ranks_per_node));
  lines.push_back(fmt::format("-R \"span[ptile={}] affinity[core({})]\"", request.ranks_per_node,
                              request.cpus_per_rank));
  if (!request.constraint.empty()) lines.push_back("-R \"select[" + request.constraint + "]\"");
  if (request.sharing == Sharing::kExclusive) lines.emplace_back("-x");
  lines.push_back("-W " + minutes_text(request.time_s));
  lines.emplace_back("-wa USR1");
  lines.push_back("-wt " + minutes_text(request.signal_margin_s));
  if (request.restarts > 0) {
    lines.emplace_back("-r");
    lines.emplace_back("-Q \"75\"");
  } else {
    lines.emplace_back("-rn");
  }
  lines.push_back("-o " + request.name + (request.is_array() ? "-%J_%I.out" : "-%J.out"));
  if (!request.queue.empty()) lines.push_back("-q " + request.queue);
  if (!request.account.empty()) lines.push_back("-P " + request.account);
  return lines;
}

}  // namespace

SchedulerParts lsf_parts(const JobRequest& request) {
  SchedulerParts parts;
  parts.sentinel = "#BSUB";
  parts.directives = lsf_directives(request);
  parts.submit = "bsub < SCRIPT";
  parts.follow = "bjobs";
  parts.stop = "bkill -s USR2 JOB";
  parts.go_on = "RESUME_JOB=JOB bsub < SCRIPT";
  parts.job = request.is_array() ? "${LSB_JOBID:?submit this with bsub}_"
                                   "${LSB_JOBINDEX:?submit this with bsub}"
                                 : "${LSB_JOBID:?submit this with bsub}";
  if (request.is_array()) parts.index = "$LSB_JOBINDEX";
  parts.scratch = "${TMPDIR:-/tmp}";
  parts.hosts = "sort -u \"$LSB_DJOB_HOSTFILE\"";
  parts.host_file = "$LSB_DJOB_HOSTFILE";
  parts.on_nodes =
      "mpirun --hostfile \"$LSB_DJOB_HOSTFILE\" --map-by ppr:1:node --bind-to none "
      "--oversubscribe";
  parts.queue_again = "  # What -Q names.\n  exit 75\n";
  return parts;
}

}  // namespace launch
