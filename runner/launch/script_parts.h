// The scheduler-dependent parts of a job script.
#pragma once

#include <string>
#include <vector>

#include "runner/launch/job_request.h"

namespace launch {

/// Lines of bash end with a newline each and may use the variables of the script's settings.
struct SchedulerParts {
  std::string sentinel;                     ///< "#SBATCH"
  std::vector<std::string> directives;      ///< the text after the sentinel, one line each
  std::string submit, follow, stop, go_on;  ///< commands for the header
  std::string enter;        ///< first lines of the script: enter the folder that the job was
                            ///< submitted from
  std::string job;          ///< an expression: the job's number, the same after a restart
  std::string index;        ///< an expression: the member of the set; empty without arrays
  std::string scratch;      ///< an expression: the node-local folder
  std::string hosts;        ///< a command that prints the allocation's hosts, one per line
  std::string host_file;    ///< an expression for mpirun; empty if mpirun asks the scheduler
  std::string on_nodes;     ///< a command prefix that runs a command once on each node
  std::string warn;         ///< lines that arrange for SIGUSR1 before the limit; empty: a directive
                            ///< does
  std::string queue_again;  ///< the body of a function that ends this job and queues it again
};

SchedulerParts slurm_parts(const JobRequest& request);
SchedulerParts pbs_parts(const JobRequest& request);
SchedulerParts lsf_parts(const JobRequest& request);
SchedulerParts flux_parts(const JobRequest& request);

/// 3661 -> "01:01:01".
std::string clock_text(std::int64_t seconds);

/// The bash command that starts the ranks of one run, without the program. `hosts` is an expression
/// for an instance's hosts "a:4,b:4"; empty for the whole allocation.
std::string start_command(const JobRequest& request, const SchedulerParts& parts,
                          const std::string& hosts);

}  // namespace launch
