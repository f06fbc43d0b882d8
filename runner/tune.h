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

/// What a node is tried with.
struct NodeUse {
  int ranks = 1;
  CpuConfig cpus;
  bool operator==(const NodeUse&) const = default;
};

/// What a bench of a NodeUse said.
struct Trial {
  double samples_per_s = 0.0;  ///< of all ranks together
  std::int64_t threads = 0;    ///< of a rank
  std::string failure;         ///< why there is no rate; "": there is one
};

struct Tried {
  NodeUse use;
  std::vector<double> samples_per_s;
  std::int64_t threads = 0;
  std::string failure;
  double median() const;  ///< 0 if it failed
};

/// Numbers of ranks worth trying, ascending: one; one and two for each socket and NUMA node; one
/// for each shared cache, if these are no more than 16. No more than there are cores, and only
/// divisors of `batch`, the samples of a step.
std::vector<int> sensible_ranks(hwloc_topology_t topology, const std::vector<int>& usable,
                                std::int64_t batch);

/// Other ways for `ranks` ranks: one thread a core where cores have several hardware threads; one
/// spare core where a rank has 4 or more.
std::vector<CpuConfig> sensible_cpus(hwloc_topology_t topology, const std::vector<int>& usable,
                                     int ranks);

/// Tries each use `rounds` times (from 1), in turns. A use that failed is not tried again.
std::vector<Tried> try_in_turns(const std::vector<NodeUse>& uses, int rounds,
                                const std::function<Trial(const NodeUse&, int round)>& trial);

/// The fastest by median; of those within 1 % of it, the one that comes first. Throws SystemError
/// with the first failure if all failed.
const Tried& best_of(const std::vector<Tried>& tried);

/// The keys of a configuration that make runs use a node so.
nlohmann::json to_json(const NodeUse& use);

/// The text of a configuration with `use` as its "cpus", and without "threads" and "cpus"/"bind",
/// with which nothing was tried; the other keys stay as they are, in their order. Throws
/// ConfigError if it is not a JSON object, or has comments, which would be lost.
std::string with_use(const std::string& text, const std::string& name, const NodeUse& use);

}  // namespace runner
