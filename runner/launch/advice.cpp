// Warnings about idle nodes and CPUs.
#include "runner/launch/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/printable.h"

namespace launch {

std::string unused_nodes(const Allocation& allocation, std::int64_t run_nodes) {
  if (allocation.nodes <= run_nodes) return "";
  const std::string how = allocation.scheduler == "Slurm"
                              ? "srun --mpi=pmix or mpirun starts it on all of them"
                              : "mpirun starts it on all of them";
  return fmt::format("the {} job has {} nodes, this run uses {}: {}", allocation.scheduler,
                     allocation.nodes, run_nodes, how);
}

std::string lone_task(const Environment& environment, std::int64_t mpi_ranks) {
  if (mpi_ranks > 1 || kind_of(environment) != LauncherKind::kNone) return "";
  if (value_of(environment, "SLURM_PROCID") != "0") return "";
  const std::string tasks = value_of(environment, "SLURM_NTASKS");
  if (tasks.empty() || tasks == "1") return "";
  return fmt::format(
      "the Slurm job has {} tasks (SLURM_NTASKS), this run is one process and trains alone: "
      "started "
      "by the batch script itself, or by an srun whose variables were lost on the way, as into a "
      "container: start it by srun --mpi=pmix or mpirun",
      base::printable(tasks));
}

namespace {

/// Names the variable of OpenMP that lists fewer CPUs than there are; "" if none lists any.
std::string cut_by_openmp(const Environment& environment, std::int64_t used, std::int64_t cpus) {
  const std::string affinity = value_of(environment, "GOMP_CPU_AFFINITY");
  const std::string places = value_of(environment, "OMP_PLACES");
  std::string variable;
  if (places.starts_with('{')) variable = "OMP_PLACES=" + places;
  if (!affinity.empty()) variable = "GOMP_CPU_AFFINITY=" + affinity;
  if (variable.empty()) return "";
  return fmt::format("{}: leaves this run {} of {} CPUs: unset it, or name all of them",
                     base::printable(variable), used, cpus);
}

}  // namespace

std::string idle_cpus(const Environment& environment, std::int64_t node_ranks,
                      std::int64_t ranks_cpus, std::int64_t node_cpus) {
  if (ranks_cpus >= node_cpus) return "";
  if (kind_of(environment) != LauncherKind::kMpirun) {
    return cut_by_openmp(environment, ranks_cpus, node_cpus);
  }
  const auto mapping = environment.find("OMPI_MCA_rmaps_base_mapping_policy");
  const bool chose_cpus =
      mapping != environment.end() && mapping->second.find("pe=") != std::string::npos;
  if (chose_cpus || environment.contains("OMPI_MCA_hwloc_base_binding_policy")) return "";
  return fmt::format(
      "mpirun bound the {} of a node to {} of its {} CPUs, as it does by default: give it "
      "--bind-to none, or --map-by slot:pe={}",
      node_ranks == 1 ? "rank" : fmt::format("{} ranks", node_ranks), ranks_cpus, node_cpus,
      std::max<std::int64_t>(1, node_cpus / std::max<std::int64_t>(1, node_ranks)));
}

}  // namespace launch
