// Candidates from the topology, trials in turns, and the best of them.
#include "runner/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/error.h"
#include "runner/base/json_text.h"
#include "runner/base/median.h"
#include "runner/base/strict_json.h"
#include "runner/cpu_plan.h"

namespace runner {
namespace {

/// Objects of a type that contain a usable CPU; those of the same CPUs count once.
int count_objects(hwloc_topology_t topology, hwloc_obj_type_t type,
                  const std::vector<int>& usable) {
  std::set<std::set<int>> found;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object)) {
    std::set<int> cpus;
    for (const int cpu : usable) {
      if (hwloc_bitmap_isset(object->cpuset, static_cast<unsigned>(cpu)) != 0) cpus.insert(cpu);
    }
    if (!cpus.empty()) found.insert(std::move(cpus));
  }
  return static_cast<int>(found.size());
}

}  // namespace

double Tried::median() const {
  return samples_per_s.empty() || !failure.empty() ? 0.0 : base::median_of(samples_per_s);
}

std::vector<int> sensible_ranks(hwloc_topology_t topology, const std::vector<int>& usable,
                                std::int64_t batch) {
  constexpr int kMostCaches = 16;
  const int cores = plan_cpus(topology, usable, 1, {}).ranks.front().cores;
  const int caches = count_objects(topology, HWLOC_OBJ_L3CACHE, usable);
  std::set<int> counts = {1};
  for (const auto type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE}) {
    const int objects = count_objects(topology, type, usable);
    counts.insert({objects, 2 * objects});
  }
  if (caches <= kMostCaches) counts.insert(caches);
  std::vector<int> ranks;
  std::copy_if(counts.begin(), counts.end(), std::back_inserter(ranks),
               [&](int count) { return count >= 1 && count <= cores && batch % count == 0; });
  return ranks;
}

std::vector<CpuConfig> sensible_cpus(hwloc_topology_t topology, const std::vector<int>& usable,
                                     int ranks) {
  constexpr int kFewCores = 4;
  const CpuPlan plan = plan_cpus(topology, usable, ranks, {});
  if (plan.ranks.empty()) return {};
  const RankCpus& rank = plan.ranks.front();
  const bool has_several = rank.threads > rank.cores;
  std::vector<CpuConfig> others;
  CpuConfig one;
  one.all_hardware_threads = false;
  if (has_several) others.push_back(one);
  if (rank.cores < kFewCores) return others;
  CpuConfig spare;
  spare.spare_cores = 1;
  others.push_back(spare);
  if (has_several) {
    one.spare_cores = 1;
    others.push_back(one);
  }
  return others;
}

std::vector<Tried> try_in_turns(const std::vector<NodeUse>& uses, int rounds,
                                const std::function<Trial(const NodeUse&, int round)>& trial) {
  std::vector<Tried> tried;
  for (const NodeUse& use : uses) tried.push_back({use, {}, 0, ""});
  for (int round = 1; round <= rounds; ++round) {
    for (Tried& one : tried) {
      if (!one.failure.empty()) continue;
      const Trial result = trial(one.use, round);
      one.failure = result.failure;
      if (!one.failure.empty()) continue;
      one.threads = result.threads;
      one.samples_per_s.push_back(result.samples_per_s);
    }
  }
  return tried;
}

const Tried& best_of(const std::vector<Tried>& tried) {
  constexpr double kAlike = 0.99;
  const auto slower = [](const Tried& a, const Tried& b) { return a.median() < b.median(); };
  const double best = std::max_element(tried.begin(), tried.end(), slower)->median();
  if (best <= 0.0) throw base::SystemError("no bench succeeded: " + tried.front().failure);
  return *std::find_if(tried.begin(), tried.end(),
                       [best](const Tried& one) { return one.median() >= kAlike * best; });
}

nlohmann::json to_json(const NodeUse& use) {
  return {{"ranks_per_node", use.ranks},
          {"all_hardware_threads", use.cpus.all_hardware_threads},
          {"spare_cores", use.cpus.spare_cores}};
}

std::string with_use(const std::string& text, const std::string& name, const NodeUse& use) {
  nlohmann::json strict;
  try {
    strict = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  } catch (const base::DataError& e) {
    throw base::ConfigError(
        fmt::format("{}; a configuration that is written anew would lose its comments", e.what()));
  }
  if (!strict.is_object()) {
    throw base::ConfigError(name + ": expected an object, found " + base::brief_json(strict));
  }
  auto config = nlohmann::ordered_json::parse(text);  // keeps the order of keys
  config.erase("threads");
  auto& cpus = config["cpus"];
  if (!cpus.is_object()) cpus = nlohmann::ordered_json::object();
  cpus.erase("bind");
  const nlohmann::json keys = to_json(use);
  for (const auto& [key, value] : keys.items()) cpus[key] = value;
  return base::json_text(config, 2);
}

}  // namespace runner
