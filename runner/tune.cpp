// Candidates from the topology, trials in turns, and the best of them.
#include "runner/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/error.h"
#include "runner/base/json_text.h"
#include "runner/base/median.h"
#include "runner/base/strict_json.h"
#include "runner/cpu_plan.h"
#include "runner/hwloc_topology.h"

namespace runner {
namespace {

/// Objects of a type that contain a usable CPU; those of the same CPUs count once.
int count_objects(hwloc_topology_t topology, hwloc_obj_type_t type,
                  const std::vector<int>& usable) {
  std::set<std::vector<int>> found;
  for (const hwloc_obj_t object : objects_of(topology, type)) {
    std::vector<int> cpus;
    std::copy_if(usable.begin(), usable.end(), std::back_inserter(cpus),
                 [object](int cpu) { return contains(object, cpu); });
    if (!cpus.empty()) found.insert(std::move(cpus));
  }
  return static_cast<int>(found.size());
}

}  // namespace

double Tried::median() const {
  return samples_per_s.empty() || !failure.empty() ? 0.0 : base::median_of(samples_per_s);
}

std::vector<CpuConfig> sensible_ranks(hwloc_topology_t topology, const std::vector<int>& usable,
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
  std::vector<CpuConfig> all;
  for (const int count : counts) {
    if (count < 1 || count > cores || batch % count != 0) continue;
    all.emplace_back().ranks_per_node = count;
  }
  return all;
}

std::vector<CpuConfig> sensible_variants(hwloc_topology_t topology, const std::vector<int>& usable,
                                         const CpuConfig& cpus) {
  constexpr int kFewCores = 4;
  const CpuPlan plan = plan_cpus(topology, usable, static_cast<int>(cpus.ranks_per_node), cpus);
  std::vector<CpuConfig> all = {cpus};
  if (plan.ranks.empty()) return all;
  const RankCpus& rank = plan.ranks.front();
  if (rank.threads > rank.cores) all.emplace_back(cpus).all_hardware_threads = false;
  if (rank.cores < kFewCores) return all;
  for (CpuConfig spare : std::vector<CpuConfig>(all)) {
    spare.spare_cores = 1;
    all.push_back(spare);
  }
  return all;
}

std::vector<Tried> try_in_turns(const std::vector<CpuConfig>& all, int rounds,
                                const std::function<Trial(const CpuConfig&, int round)>& trial) {
  std::vector<Tried> tried;
  for (const CpuConfig& cpus : all) tried.push_back({cpus, {}, 0, ""});
  for (int round = 1; round <= rounds; ++round) {
    for (Tried& one : tried) {
      if (!one.failure.empty()) continue;
      const Trial result = trial(one.cpus, round);
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

nlohmann::json rewritable(const std::string& text, const std::string& name) {
  nlohmann::json config;
  try {
    config = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  } catch (const base::DataError& e) {
    throw base::ConfigError(
        fmt::format("{}; a configuration that is written anew would lose its comments", e.what()));
  }
  if (config.is_object()) return config;
  throw base::ConfigError(name + ": expected an object, found " + base::brief_json(config));
}

std::string with_cpus(const std::string& text, const CpuConfig& cpus) {
  auto config = nlohmann::ordered_json::parse(text);  // keeps the order of keys
  config.erase("threads");
  config["cpus"] = to_json(cpus);
  return base::json_text(config, 2);
}

}  // namespace runner
