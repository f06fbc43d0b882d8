// Reads the variables of launchers.
#include "runner/launch/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/printable.h"

namespace launch {
namespace {

/// A variable's value; null if it is unset or empty.
const std::string* find(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

bool has(const Environment& environment, const std::string& name) {
  return find(environment, name) != nullptr;
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) return std::nullopt;
  return number;
}

/// 0 if `name` is null or not set.
std::int64_t number(const Environment& environment, const char* name) {
  if (name == nullptr) return 0;
  const std::string* text = find(environment, name);
  if (text == nullptr) return 0;
  const auto value = number_in(*text);
  if (value) return *value;
  throw base::ConfigError(
      fmt::format("environment: {}: expected a whole number that is not negative, found '{}'", name,
                  base::printable(*text)));
}

/// The variables of one launcher; null: it has no such variable.
struct Names {
  LauncherKind kind;
  std::vector<const char*> all_set;  ///< identifies the launcher
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* local_ranks;
  const char* nodes;
};

/// The first match counts. mpirun starts its daemons by srun, and Flux, PALS and Slurm provide PMI
/// too, so launchers closer to the process come first.
const std::vector<Names>& known_launchers() {
  static const std::vector<Names> all = {
      {LauncherKind::kJsrun,
       {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
       "JSM_NAMESPACE_RANK",
       "JSM_NAMESPACE_SIZE",
       "JSM_NAMESPACE_LOCAL_RANK",
       "JSM_NAMESPACE_LOCAL_SIZE",
       nullptr},
      {LauncherKind::kPjm,
       {"PJM_MPI_PROC", "PMIX_RANK"},
       "PMIX_RANK",
       "PJM_MPI_PROC",
       nullptr,
       nullptr,
       "PJM_NODE"},
      {LauncherKind::kMpirun,
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       "OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       nullptr},
      {LauncherKind::kFlux,
       {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
       "FLUX_TASK_RANK",
       "FLUX_JOB_SIZE",
       "FLUX_TASK_LOCAL_ID",
       nullptr,
       "FLUX_JOB_NNODES"},
      {LauncherKind::kPals,
       {"PALS_RANKID"},
       "PALS_RANKID",
       "PMI_SIZE",
       "PALS_LOCAL_RANKID",
       "PMI_LOCAL_SIZE",
       nullptr},
      {LauncherKind::kHydra,
       {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
       "PMI_RANK",
       "PMI_SIZE",
       "MPI_LOCALRANKID",
       "MPI_LOCALNRANKS",
       nullptr},
      // Not SLURM_NTASKS, which is that of the job.
      {LauncherKind::kSrun,
       {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
       "SLURM_PROCID",
       "SLURM_STEP_NUM_TASKS",
       "SLURM_LOCALID",
       nullptr,
       "SLURM_STEP_NUM_NODES"},
      {LauncherKind::kHydra,
       {"PMI_RANK", "PMI_SIZE"},
       "PMI_RANK",
       "PMI_SIZE",
       nullptr,
       "PMI_LOCAL_SIZE",
       nullptr},
      {LauncherKind::kHydra,
       {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
       "MV2_COMM_WORLD_RANK",
       "MV2_COMM_WORLD_SIZE",
       "MV2_COMM_WORLD_LOCAL_RANK",
       "MV2_COMM_WORLD_LOCAL_SIZE",
       nullptr},
      {LauncherKind::kPmix, {"PMIX_RANK"}, "PMIX_RANK", nullptr, nullptr, nullptr, nullptr},
      // A step whose other variables did not come through, as into a container.
      {LauncherKind::kSrun,
       {"SLURM_PROCID", "SLURM_NTASKS"},
       "SLURM_PROCID",
       "SLURM_NTASKS",
       "SLURM_LOCALID",
       nullptr,
       nullptr},
      {LauncherKind::kTorchrun,
       {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE"},
       "RANK",
       "WORLD_SIZE",
       "LOCAL_RANK",
       "LOCAL_WORLD_SIZE",
       nullptr}};
  return all;
}

/// A batch script has variables of tasks, but only those of the first one, and none of a step.
bool is_batch_script(const Environment& environment) {
  for (const char* of_a_step : {"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS",
                                "SLURM_SRUN_COMM_HOST", "SLURM_SRUN_COMM_PORT"}) {
    if (has(environment, of_a_step)) return false;
  }
  return has(environment, "SLURM_JOB_ID") && value_of(environment, "SLURM_PROCID") == "0";
}

const Names* names_in(const Environment& environment) {
  for (const Names& names : known_launchers()) {
    if (names.kind == LauncherKind::kSrun && is_batch_script(environment)) continue;
    bool is_known = true;
    for (const char* name : names.all_set) is_known = is_known && has(environment, name);
    if (is_known) return &names;
  }
  return nullptr;
}

PeerService peers_in(const Environment& environment) {
  if (has(environment, "PMIX_NAMESPACE") || has(environment, "PMIX_RANK")) {
    return PeerService::kPmix;
  }
  for (const char* name : {"PMI_FD", "PMI_PORT", "PMI_RANK"}) {
    if (has(environment, name)) return PeerService::kPmi;
  }
  return PeerService::kNone;
}

/// How to start the processes so that they form one job.
std::string remedy(LauncherKind kind, const std::string& library) {
  const std::string by_mpirun = fmt::format("start it by the mpirun of {}", library);
  switch (kind) {
    case LauncherKind::kSrun:
      return open_mpi_version(library) > 0
                 ? "start it by srun --mpi=pmix, or by mpirun"
                 : fmt::format(
                       "start it by srun --mpi with what {} needs (srun --mpi=list tells "
                       "what there is), or by its mpirun",
                       library);
    case LauncherKind::kFlux:
      return fmt::format("start it by flux run -o pmi=pmix, or {}", by_mpirun);
    default:
      return by_mpirun;
  }
}

}  // namespace

Environment environment() {
  Environment all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

Launcher launcher_of(const Environment& environment) {
  const Names* names = names_in(environment);
  if (names == nullptr) return {};
  Launcher launcher;
  launcher.kind = names->kind;
  launcher.peers = peers_in(environment);
  launcher.rank = number(environment, names->rank);
  launcher.ranks = number(environment, names->ranks);
  launcher.local_rank = number(environment, names->local_rank);
  launcher.local_ranks = number(environment, names->local_ranks);
  launcher.nodes = number(environment, names->nodes);
  const bool has_job = has(environment, "SLURM_JOB_ID") && !has(environment, "SLURM_STEP_ID");
  launcher.rank_0_knows = launcher.ranks > 0 && !(launcher.kind == LauncherKind::kSrun && has_job);
  if (launcher.ranks > 0 && launcher.rank >= launcher.ranks) {
    throw base::ConfigError(
        fmt::format("environment: {}: expected less than the {} of {}, found {}", names->rank,
                    launcher.ranks, names->ranks, launcher.rank));
  }
  return launcher;
}

LauncherKind kind_of(const Environment& environment) {
  const Names* names = names_in(environment);
  return names == nullptr ? LauncherKind::kNone : names->kind;
}

std::int64_t launched_rank(const Environment& environment) noexcept {
  try {
    return launcher_of(environment).rank;
  } catch (const std::exception&) {
    return 0;
  }
}

bool has_peers(const Environment& environment) {
  const Launcher launcher = launcher_of(environment);
  if (launcher.kind == LauncherKind::kMpirun || launcher.peers != PeerService::kNone) return true;
  return launcher.kind == LauncherKind::kSrun && launcher.ranks > 1;
}

std::string name_of(LauncherKind kind) {
  switch (kind) {
    case LauncherKind::kNone:
      return "the shell";
    case LauncherKind::kMpirun:
      return "mpirun";
    case LauncherKind::kSrun:
      return "srun";
    case LauncherKind::kHydra:
      return "mpiexec";
    case LauncherKind::kFlux:
      return "flux run";
    case LauncherKind::kPals:
      return "mpiexec of PALS";
    case LauncherKind::kPjm:
      return "mpiexec of PJM";
    case LauncherKind::kJsrun:
      return "jsrun";
    case LauncherKind::kPmix:
      return "a launcher with PMIx";
    case LauncherKind::kTorchrun:
      return "torchrun";
  }
  return "an unknown launcher";
}

int open_mpi_version(const std::string& library) {
  const std::string prefix = "Open MPI v";
  if (!library.starts_with(prefix)) return 0;
  int major = 0;
  std::from_chars(library.data() + prefix.size(), library.data() + library.size(), major);
  return major;
}

std::string start_problem(const Launcher& launcher, const std::string& library) {
  if (launcher.kind != LauncherKind::kSrun || launcher.peers != PeerService::kNone) return "";
  const int version = open_mpi_version(library);
  // From version 5 on, a single process can start alone.
  if (version == 0 || (version >= 5 && launcher.ranks == 1)) return "";
  return fmt::format(
      "srun started {} without PMIx, which {} needs to find the job: {}",
      launcher.ranks == 1 ? "this process" : fmt::format("{} processes", launcher.ranks), library,
      remedy(launcher.kind, library));
}

std::string size_problem(const Launcher& launcher, std::int64_t mpi_ranks,
                         const std::string& library) {
  if (launcher.ranks == 0 && launcher.rank >= mpi_ranks) {
    return fmt::format("{} started this process as rank {}, but MPI knows {} only: {}",
                       name_of(launcher.kind), launcher.rank, base::counted(mpi_ranks, "rank"),
                       remedy(launcher.kind, library));
  }
  // The steps of a heterogeneous job report only their own tasks.
  if (launcher.ranks <= 1 || mpi_ranks >= launcher.ranks) return "";
  const std::string what =
      mpi_ranks == 1 ? "each would do the whole job alone, as MPI does not know the others"
                     : fmt::format("MPI knows {} of them", mpi_ranks);
  return fmt::format("{} started {} processes, but {}: {}", name_of(launcher.kind), launcher.ranks,
                     what, remedy(launcher.kind, library));
}

}  // namespace launch
