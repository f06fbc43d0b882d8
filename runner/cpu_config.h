// What a configuration says about the CPUs of ranks.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runner/base/object_reader.h"

namespace runner {

/// What goes on with exchanges between ranks while a rank computes.
enum class Progress {
  kAuto,    ///< kThread where the other keys leave a CPU of the rank without a compute thread
  kLayers,  ///< the rank itself, between layers
  kThread   ///< also a thread of its own (progress_thread.h)
};

/// How the ranks of a node use its CPUs.
struct CpuConfig {
  bool binds = true;  ///< gives ranks CPUs of their own where the launcher left them all the same
  bool all_hardware_threads = true;  ///< of a core get a compute thread; else one does
  std::int64_t spare_cores = 0;      ///< of each rank, that get no compute thread
  Progress progress = Progress::kAuto;
  std::int64_t ranks_per_node = 0;  ///< for which the rest was chosen; 0: any number
  bool operator==(const CpuConfig&) const = default;
};

/// By its name. Throws ConfigError.
Progress progress_of(const std::string& name);
/// Reads the keys of the object "cpus". Throws ConfigError.
CpuConfig parse_cpus(const base::ObjectReader& cpus);
/// The object that parse_cpus() reads.
nlohmann::json to_json(const CpuConfig& config);

}  // namespace runner
