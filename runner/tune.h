// Finds the numbers of ranks and threads with which a node trains fastest.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/cpu_config.h"

namespace runner {

/// What a bench said.
struct Trial {
  double samples_per_s = 0.0;  ///< of all ranks together
  std::int64_t threads = 0;    ///< of a rank
  std::string failure;         ///< why there is no rate; "": there is one
};

struct Tried {
  CpuConfig cpus;
  std::vector<double> samples_per_s;
  std::int64_t threads = 0;
  std::string failure;
  double median() const;  ///< 0 if it failed
};

/// Numbers of ranks worth trying, ascending: one; one and two for each socket and NUMA node; one
/// for each shared cache, if these are no more than 16. No more than there are cores, and only
/// divisors of `batch`, the samples of a step.
std::vector<CpuConfig> sensible_ranks(hwloc_topology_t topology, const std::vector<int>& usable,
                                      std::int64_t batch);

/// `cpus`, and other ways for as many ranks: one thread a core where cores have several hardware
/// threads; one spare core where a rank has 4 or more.
std::vector<CpuConfig> sensible_variants(hwloc_topology_t topology, const std::vector<int>& usable,
                                         const CpuConfig& cpus);

/// Tries each `rounds` times (from 1), in turns. One that failed is not tried again.
std::vector<Tried> try_in_turns(const std::vector<CpuConfig>& all, int rounds,
                                const std::function<Trial(const CpuConfig&, int round)>& trial);

/// The fastest by median; of those within 1 % of it, the one that comes first. Throws SystemError
/// with the first failure if all failed.
const Tried& best_of(const std::vector<Tried>& tried);

/// The configuration in `text`, which is to be written anew. Throws ConfigError if it is not a JSON
/// object, or has comments, which would be lost.
nlohmann::json rewritable(const std::string& text, const std::string& name);

/// The text of a rewritable() configuration with these `cpus`, and without "threads"; the other
/// keys stay as they are, in their order.
std::string with_cpus(const std::string& text, const CpuConfig& cpus);

}  // namespace runner
