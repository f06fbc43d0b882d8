// Two CPUs on which ranks can be bound apart.
#pragma once

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "runner/base/usable_cpus.h"

namespace outside {

/// The first CPUs that this process may use of its first two cores, ascending; fewer if it may use
/// only one core.
inline std::vector<int> two_cores() {
  std::set<std::string> cores;
  std::vector<int> cpus;
  for (const int cpu : base::process_cpus()) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::string core, package;
    std::ifstream(folder + "core_id") >> core;
    std::ifstream(folder + "physical_package_id") >> package;
    if (cpus.size() < 2 && cores.insert(package + "/" + core).second) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace outside
