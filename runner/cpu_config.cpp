// The keys of "cpus".
#include "runner/cpu_config.h"

#include <nlohmann/json.hpp>

namespace runner {

CpuConfig parse_cpus(const base::ObjectReader& cpus) {
  CpuConfig config;
  config.binds =
      cpus.optional("bind", config.binds,
                    "give the ranks of a node CPUs of their own where the launcher left them all "
                    "the same ones; false: leave them as they are");
  config.all_hardware_threads = cpus.optional(
      "all_hardware_threads", config.all_hardware_threads,
      "a compute thread for each hardware thread of a core; false: one for each core");
  config.spare_cores = cpus.optional(
      "spare_cores", config.spare_cores,
      "cores of each rank that get no compute thread, for communication and the system",
      base::within(0, 4096));
  config.ranks_per_node = cpus.optional(
      "ranks_per_node", config.ranks_per_node,
      "ranks of a node with which training is fastest, as `trainmark bench --tune` finds it: "
      "`script` starts that number, and `run` warns of another; 0: not known",
      base::within(0, 4096));
  return config;
}

nlohmann::json to_json(const CpuConfig& config) {
  return {{"bind", config.binds},
          {"all_hardware_threads", config.all_hardware_threads},
          {"spare_cores", config.spare_cores},
          {"ranks_per_node", config.ranks_per_node}};
}

}  // namespace runner
