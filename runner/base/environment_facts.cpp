// Selects the environment variables that belong to the provenance of a measurement.
#include "runner/base/environment_facts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace base {

namespace {

using namespace std::literals;

constexpr std::array kPrefixes = {"ONEDNN_"sv,    "DNNL_"sv,         "OMP_"sv,    "GOMP_"sv,
                                  "KMP_"sv,       "UCX_"sv,          "MALLOC_"sv, "HDF5_"sv,
                                  "TRAINMARK_"sv, "GLIBC_TUNABLES"sv};

/// Of Open MPI's, those that choose how messages travel and where ranks are bound: the others hold
/// the job's keys, addresses, folders and command line.
constexpr std::array kOpenMpi = {"OMPI_COMM_WORLD_SIZE"sv, "OMPI_COMM_WORLD_LOCAL_SIZE"sv,
                                 "OMPI_MCA_accelerator"sv, "OMPI_MCA_bml"sv,
                                 "OMPI_MCA_btl"sv,         "OMPI_MCA_coll"sv,
                                 "OMPI_MCA_hwloc_"sv,      "OMPI_MCA_io_"sv,
                                 "OMPI_MCA_mpi_"sv,        "OMPI_MCA_mpool"sv,
                                 "OMPI_MCA_mtl"sv,         "OMPI_MCA_osc"sv,
                                 "OMPI_MCA_pml"sv,         "OMPI_MCA_rcache"sv,
                                 "OMPI_MCA_rmaps_"sv,      "OMPI_MCA_smsc"sv,
                                 "OMPI_MCA_topo"sv};

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

bool contains_any(std::string_view name, const auto& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool belongs(std::string_view name) {
  if (contains_any(name, kSecret)) return false;
  if (std::find(kScheduler.begin(), kScheduler.end(), name) != kScheduler.end()) return true;
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::ranges::any_of(kPrefixes, begins) || std::ranges::any_of(kOpenMpi, begins);
}

/// Reduces absolute paths to their last part: folders may name people and projects.
std::string without_folders(std::string_view value) {
  constexpr std::string_view kBetween = ":,;= ";
  std::string text;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find_first_of(kBetween, begin), value.size());
    std::string_view part = value.substr(begin, end - begin);
    if (part.starts_with('/')) part.remove_prefix(part.find_last_of('/') + 1);
    text += part;
    if (end < value.size()) text += value[end];
    begin = end + 1;
  }
  return text;
}

}  // namespace

nlohmann::json environment_facts(const char* const* environment) {
  nlohmann::json facts = nlohmann::json::object();
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (belongs(name)) facts[std::string(name)] = without_folders(entry.substr(equals + 1));
  }
  return facts;
}

}  // namespace base
