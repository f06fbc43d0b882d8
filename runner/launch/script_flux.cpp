// Job scripts for Flux.
#include <fmt/format.h>

#include "runner/launch/script_parts.h"

namespace launch {
namespace {

std::vector<std::string> flux_directives(const JobRequest& request) {
  std::vector<std::string> lines = {"--job-name=" + request.name};
  lines.push_back(fmt::format("--nodes={}", request.all_nodes()));
  if (request.sharing == Sharing::kExclusive) {
    lines.emplace_back("--exclusive");
  } else {
    lines.push_back(fmt::format("--nslots={}", request.all_nodes() * request.ranks_per_node));
    lines.push_back(fmt::format("--cores-per-slot={}", request.cpus_per_rank));
  }
  lines.push_back(fmt::format("--time-limit={}s", request.time_s));
  lines.push_back("--output=" + request.name + "-{{id}}.out");
  if (!request.queue.empty()) lines.push_back("--queue=" + request.queue);
  if (!request.account.empty()) lines.push_back("--setattr=bank=" + request.account);
  if (!request.constraint.empty()) lines.push_back("--requires=" + request.constraint);
  return lines;
}

}  // namespace

SchedulerParts flux_parts(const JobRequest& request) {
  SchedulerParts parts;
  parts.sentinel = "#flux:";
  parts.directives = flux_directives(request);
  parts.submit = request.is_array() ? fmt::format(
                                          "for member in {{1..{}}}; do flux batch "
                                          "--env=MEMBER=$member SCRIPT; done",
                                          request.runs)
                                    : "flux batch SCRIPT";
  parts.follow = "flux jobs";
  parts.stop = "flux proxy JOB flux job killall --force --signal=SIGUSR2";
  parts.go_on = "flux batch --env=RESUME_JOB=JOB SCRIPT";
  // Flux unsets FLUX_JOB_ID for batch scripts, and by default writes job ids with a non-ASCII
  // letter.
  parts.enter =
      "batch_job=$(FLUX_F58_FORCE_ASCII=1 flux getattr jobid) ||\n"
      "  { echo 'submit this with flux batch' >&2; exit 2; }\n";
  parts.job = "$batch_job";
  if (request.is_array()) parts.index = "${MEMBER:?which member of the set}";
  parts.scratch = "${TMPDIR:-/tmp}";
  parts.on_nodes = "flux exec -r all";
  parts.warn = "Flux";
  parts.queue_again = std::string("  flux --parent batch --env=\"RESUME_JOB=$chain\" ") +
                      (request.is_array() ? "--env=\"MEMBER=$MEMBER\" " : "") +
                      "\"$0\" && exit 0\n";
  return parts;
}

}  // namespace launch
