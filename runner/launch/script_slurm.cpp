// Job scripts for Slurm.
#include <fmt/format.h>

#include "runner/launch/script_parts.h"

namespace launch {
namespace {

std::vector<std::string> slurm_directives(const JobRequest& request) {
  std::vector<std::string> lines = {"--job-name=" + request.name};
  if (request.is_array()) {
    lines.push_back(fmt::format("--array=1-{}", request.runs) +
                    (request.at_once > 0 ? fmt::format("%{}", request.at_once) : ""));
  }
  lines.push_back(fmt::format("--nodes={}", request.all_nodes()));
  lines.push_back(fmt::format("--ntasks-per-node={}", request.ranks_per_node));
  lines.push_back(fmt::format("--cpus-per-task={}", request.cpus_per_rank));
  if (request.sharing == Sharing::kExclusive) lines.emplace_back("--exclusive");
  lines.push_back("--time=" + clock_text(request.time_s));
  lines.push_back(fmt::format("--signal=B:USR1@{}", request.signal_margin_s));
  lines.emplace_back(request.restarts > 0 ? "--requeue" : "--no-requeue");
  lines.emplace_back("--open-mode=append");
  lines.emplace_back(request.is_array() ? "--output=%x-%A_%a.out" : "--output=%x-%j.out");
  if (!request.queue.empty()) lines.push_back("--partition=" + request.queue);
  if (!request.account.empty()) lines.push_back("--account=" + request.account);
  if (!request.qos.empty()) lines.push_back("--qos=" + request.qos);
  if (!request.constraint.empty()) lines.push_back("--constraint=" + request.constraint);
  return lines;
}

}  // namespace

SchedulerParts slurm_parts(const JobRequest& request) {
  SchedulerParts parts;
  parts.sentinel = "#SBATCH";
  parts.directives = slurm_directives(request);
  parts.submit = "sbatch SCRIPT";
  parts.follow = "squeue --me";
  parts.stop = "scancel --batch --signal=USR2 JOB";
  parts.go_on = "sbatch --export=ALL,RESUME_JOB=JOB SCRIPT";
  parts.job = request.is_array() ? "${SLURM_ARRAY_JOB_ID:?submit this with sbatch}_"
                                   "${SLURM_ARRAY_TASK_ID:?submit this with sbatch}"
                                 : "${SLURM_JOB_ID:?submit this with sbatch}";
  if (request.is_array()) parts.index = "$SLURM_ARRAY_TASK_ID";
  parts.scratch = "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}";
  parts.hosts = "scontrol show hostnames \"$SLURM_JOB_NODELIST\"";
  parts.on_nodes =
      "srun --mpi=none --overlap --ntasks=\"$SLURM_JOB_NUM_NODES\" --ntasks-per-node=1 "
      "--cpus-per-task=1";
  parts.queue_again = R"(  scontrol requeue "$SLURM_JOB_ID" && exit 0
)";
  return parts;
}

}  // namespace launch
