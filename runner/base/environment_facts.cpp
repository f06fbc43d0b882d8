// Selects the environment variables that belong to the provenance of a measurement.
#include "runner/base/environment_facts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace base {

namespace {

using namespace std::literals;

constexpr std::array kPrefixes = {"ONEDNN_"sv, "DNNL_"sv,      "OMP_"sv,          "GOMP_"sv,
                                  "KMP_"sv,    "OMPI_"sv,      "UCX_"sv,          "MALLOC_"sv,
                                  "HDF5_"sv,   "TRAINMARK_"sv, "GLIBC_TUNABLES"sv};

/// Only variables that describe the job's resources: others hold tokens and host addresses.
constexpr std::array kScheduler = {"SLURM_JOB_ID"sv,
                                   "SLURM_JOB_NUM_NODES"sv,
                                   "SLURM_NTASKS"sv,
                                   "SLURM_NTASKS_PER_NODE"sv,
                                   "SLURM_CPUS_PER_TASK"sv,
                                   "SLURM_JOB_PARTITION"sv,
                                   "SLURM_CPU_BIND"sv,
                                   "SLURM_CPU_BIND_TYPE"sv,
                                   "SLURM_DISTRIBUTION"sv,
                                   "SLURM_MEM_PER_NODE"sv,
                                   "SLURM_MEM_PER_CPU"sv,
                                   "SLURM_CPU_FREQ_REQ"sv,
                                   "SLURM_HINT"sv,
                                   "SLURM_THREADS_PER_CORE"sv,
                                   "SLURM_TASKS_PER_NODE"sv,
                                   "PBS_JOBID"sv,
                                   "PBS_QUEUE"sv,
                                   "PBS_NUM_NODES"sv,
                                   "PBS_NUM_PPN"sv,
                                   "PBS_NP"sv,
                                   "NCPUS"sv,
                                   "LSB_JOBID"sv,
                                   "LSB_QUEUE"sv,
                                   "LSB_DJOB_NUMPROC"sv,
                                   "LSB_MAX_NUM_PROCESSORS"sv,
                                   "LD_PRELOAD"sv};

constexpr std::array kSecret = {"TOKEN"sv, "SECRET"sv, "PASSW"sv, "CREDENTIAL"sv, "JWT"sv};
/// Open MPI's variables that hold addresses or describe its own session.
constexpr std::array kAddress = {
    "_uri"sv,      "_URI"sv,         "jobid"sv,        "SESSION"sv,
    "OMPI_ARGV"sv, "OMPI_COMMAND"sv, "INITIAL_WDIR"sv, "OMPI_FILE_LOCATION"sv};

bool contains_any(std::string_view name, const auto& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool belongs(std::string_view name) {
  if (contains_any(name, kSecret) || contains_any(name, kAddress)) return false;
  if (std::find(kScheduler.begin(), kScheduler.end(), name) != kScheduler.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

nlohmann::json environment_facts(const char* const* environment) {
  nlohmann::json facts = nlohmann::json::object();
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (belongs(name)) facts[std::string(name)] = std::string(entry.substr(equals + 1));
  }
  return facts;
}

}  // namespace base
