// The keys of "cpus".
#include "runner/cpu_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"

namespace runner {
namespace {

const std::vector<std::pair<std::string, Progress>> kProgress = {
    {"auto", Progress::kAuto}, {"layers", Progress::kLayers}, {"thread", Progress::kThread}};

}  // namespace

Progress progress_of(const std::string& name) {
  for (const auto& [known, progress] : kProgress) {
    if (known == name) return progress;
  }
  throw base::ConfigError(fmt::format("expected auto, layers or thread, got \"{}\"", name));
}

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
  config.progress = cpus.choice(
      "progress", config.progress, kProgress,
      "what goes on with exchanges between ranks while a rank computes: the rank itself, between "
      "layers, or also a thread of its own; auto: a thread where spare_cores or "
      "all_hardware_threads leave it a CPU");
  config.ranks_per_node = cpus.optional(
      "ranks_per_node", config.ranks_per_node,
      "ranks of a node with which training is fastest, as `trainmark bench --tune` finds it: "
      "`script` starts that number, and `run` warns of another; 0: not known",
      base::within(0, 4096));
  return config;
}

nlohmann::json to_json(const CpuConfig& config) {
  const auto progress =
      std::ranges::find(kProgress, config.progress, &std::pair<std::string, Progress>::second);
  return {{"bind", config.binds},
          {"all_hardware_threads", config.all_hardware_threads},
          {"spare_cores", config.spare_cores},
          {"progress", progress->first},
          {"ranks_per_node", config.ranks_per_node}};
}

}  // namespace runner
