// Reads the scheduler variables that describe a job's allocation.
#include <cctype>
#include <charconv>
#include <set>
#include <sstream>

#include "runner/base/printable.h"
#include "runner/launch/launcher.h"

namespace launch {
namespace {

std::int64_t number_of(const Environment& environment, const char* name) {
  const std::string text = value_of(environment, name);
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole && number > 0 ? number : 0;
}

Allocation slurm(const Environment& environment) {
  // Within a job step only the step's nodes are available. mpirun's daemons are a step of their
  // own.
  const bool is_task = kind_of(environment) == LauncherKind::kSrun;
  const char* nodes = is_task ? "SLURM_STEP_NUM_NODES" : "SLURM_JOB_NUM_NODES";
  return {"Slurm", value_of(environment, "SLURM_JOB_ID"),
          value_of(environment, "SLURM_CLUSTER_NAME"), number_of(environment, nodes),
          number_of(environment, "SLURM_CPUS_ON_NODE")};
}

/// The id "123.server.site" contains the server's name if PBS_SERVER is not exported.
Allocation pbs(const Environment& environment) {
  const std::string job = value_of(environment, "PBS_JOBID");
  std::string server = value_of(environment, "PBS_SERVER");
  if (server.empty() && job.find('.') != std::string::npos) server = job.substr(job.find('.') + 1);
  return {"PBS", job, server.substr(0, server.find('.')), number_of(environment, "PBS_NUM_NODES"),
          number_of(environment, "NCPUS")};
}

/// LSB_MCPU_HOSTS: "node1 16 node2 16". LSB_JOBINDEX is 0 outside of an array.
Allocation lsf(const Environment& environment) {
  std::istringstream words(value_of(environment, "LSB_MCPU_HOSTS"));
  std::set<std::string> hosts;
  for (std::string host, cpus; words >> host >> cpus;) hosts.insert(host);
  const std::string index = value_of(environment, "LSB_JOBINDEX");
  return {"LSF",
          value_of(environment, "LSB_JOBID"),
          value_of(environment, "LSB_CLUSTER_NAME"),
          static_cast<std::int64_t>(hosts.size()),
          0,
          index == "0" ? "" : index};
}

}  // namespace

Allocation allocation_of(const Environment& environment) {
  const auto is_set = [&](const char* name) { return !value_of(environment, name).empty(); };
  if (is_set("SLURM_JOB_ID")) return slurm(environment);
  if (is_set("PBS_JOBID")) return pbs(environment);
  if (is_set("LSB_JOBID")) return lsf(environment);
  if (is_set("FLUX_JOB_ID")) {
    return {"Flux", value_of(environment, "FLUX_JOB_ID"), "",
            number_of(environment, "FLUX_JOB_NNODES"), 0};
  }
  if (is_set("PJM_JOBID")) {
    return {"PJM", value_of(environment, "PJM_JOBID"), "", number_of(environment, "PJM_NODE"), 0};
  }
  if (is_set("SGE_CLUSTER_NAME") && is_set("JOB_ID")) {
    return {"Grid Engine", value_of(environment, "JOB_ID"),
            value_of(environment, "SGE_CLUSTER_NAME"), number_of(environment, "NHOSTS"), 0};
  }
  return {};
}

std::string job_text(const Allocation& allocation) {
  if (allocation.scheduler.empty()) return "";
  std::string text = allocation.scheduler;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  text += " " + base::printable(allocation.job);
  if (!allocation.task.empty()) text += "[" + base::printable(allocation.task) + "]";
  return text;
}

}  // namespace launch
