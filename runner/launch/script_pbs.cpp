// Job scripts for PBS Pro and OpenPBS.
#include <fmt/format.h>

#include "runner/launch/script_parts.h"

namespace launch {
namespace {

std::vector<std::string> pbs_directives(const JobRequest& request) {
  std::vector<std::string> lines = {"-N " + request.name};
  if (request.is_array()) {
    lines.push_back(fmt::format("-J 1-{}", request.runs) +
                    (request.at_once > 0 ? fmt::format("%{}", request.at_once) : ""));
  }
  lines.push_back(fmt::format("-l select={}:ncpus={}:mpiprocs={}", request.all_nodes(),
                              request.ranks_per_node * request.cpus_per_rank,
                              request.ranks_per_node) +
                  (request.constraint.empty() ? "" : ":" + request.constraint));
  lines.emplace_back(request.sharing == Sharing::kExclusive ? "-l place=scatter:excl"
                                                            : "-l place=scatter");
  lines.push_back("-l walltime=" + clock_text(request.time_s));
  lines.emplace_back(request.restarts > 0 ? "-r y" : "-r n");
  lines.emplace_back("-j oe");
  if (!request.queue.empty()) lines.push_back("-q " + request.queue);
  if (!request.account.empty()) lines.push_back("-A " + request.account);
  return lines;
}

}  // namespace

SchedulerParts pbs_parts(const JobRequest& request) {
  SchedulerParts parts;
  parts.sentinel = "#PBS";
  parts.directives = pbs_directives(request);
  parts.submit = "qsub SCRIPT";
  parts.follow = "qstat -u \"$USER\"";
  parts.stop = "qsig -s USR2 JOB";
  parts.go_on = "qsub -v RESUME_JOB=JOB SCRIPT";
  parts.enter = "cd \"${PBS_O_WORKDIR:?submit this with qsub}\" || exit 4\n";
  parts.job = "${PBS_JOBID:?submit this with qsub}";
  if (request.is_array()) parts.index = "${PBS_ARRAY_INDEX:?submit this with qsub}";
  parts.scratch = "${TMPDIR:-/tmp}";
  parts.hosts = "sort -u \"$PBS_NODEFILE\"";
  parts.host_file = "$PBS_NODEFILE";
  parts.on_nodes =
      "mpirun --hostfile \"$PBS_NODEFILE\" --map-by ppr:1:node --bind-to none --oversubscribe";
  parts.warn = "PBS";
  // If only operators may rerun jobs, submit the script as a new job.
  parts.queue_again = request.is_array() ? "  qrerun \"$PBS_JOBID\" && exit 0\n"
                                         : R"(  qrerun "$PBS_JOBID" 2>/dev/null && exit 0
  # Only operators may rerun jobs: a new job goes on with what this one has saved.
  qsub -v "RESUME_JOB=$chain" "$0" && exit 0
)";
  return parts;
}

}  // namespace launch
