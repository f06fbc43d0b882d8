// What a configuration says about the CPUs of ranks.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "runner/base/object_reader.h"

namespace runner {

/// How the ranks of a node use its CPUs.
struct CpuConfig {
  bool binds = true;  ///< gives ranks CPUs of their own where the launcher left them all the same
  bool all_hardware_threads = true;  ///< of a core get a compute thread; else one does
  std::int64_t spare_cores = 0;      ///< of each rank, that get no compute thread
  std::int64_t ranks_per_node = 0;   ///< for which the rest was chosen; 0: any number
  bool operator==(const CpuConfig&) const = default;
};

/// Reads the keys of the object "cpus". Throws ConfigError.
CpuConfig parse_cpus(const base::ObjectReader& cpus);
/// The object that parse_cpus() reads.
nlohmann::json to_json(const CpuConfig& config);

}  // namespace runner
