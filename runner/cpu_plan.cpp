// Divides cores in the order of the topology.
#include "runner/cpu_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "runner/base/error.h"
#include "runner/base/narrow.h"
#include "runner/base/usable_cpus.h"
#include "runner/hwloc_topology.h"

namespace runner {
namespace {

using Cpus = std::vector<int>;
using Cores = std::vector<Cpus>;  ///< the usable CPUs of each
using Parts = std::vector<Cores>;

/// What contains cores, from the outside inwards. Where one is not there, or all are alike in it,
/// it divides nothing.
constexpr std::array kLevels = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_L3CACHE};

/// In the order of the topology. Machines that tell no cores have a core for each CPU.
Cores usable_cores(hwloc_topology_t topology, const Cpus& usable) {
  Cores cores;
  std::set<int> left(usable.begin(), usable.end());
  for (const hwloc_obj_t object : objects_of(topology, HWLOC_OBJ_CORE)) {
    Cpus cpus;
    std::copy_if(left.begin(), left.end(), std::back_inserter(cpus),
                 [object](int cpu) { return contains(object, cpu); });
    for (const int cpu : cpus) left.erase(cpu);
    if (!cpus.empty()) cores.push_back(std::move(cpus));
  }
  for (const int cpu : left) cores.push_back({cpu});
  return cores;
}

/// The first of the objects that contains the CPU; null if none does.
hwloc_obj_t object_of(const std::vector<hwloc_obj_t>& objects, int cpu) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [cpu](hwloc_obj_t one) { return contains(one, cpu); });
  return found == objects.end() ? nullptr : *found;
}

/// The cores by the object that contains them, in order of first occurrence.
Parts parts_by(hwloc_topology_t topology, hwloc_obj_type_t type, const Cores& cores) {
  const std::vector<hwloc_obj_t> objects = objects_of(topology, type);
  Parts parts;
  std::map<hwloc_obj_t, std::size_t> places;
  for (const Cpus& core : cores) {
    const hwloc_obj_t object = object_of(objects, core.front());
    const auto place = places.emplace(object, parts.size()).first->second;
    if (place == parts.size()) parts.emplace_back();
    parts[place].push_back(core);
  }
  return parts;
}

bool have_equal_sizes(const Parts& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const Cores& part) { return part.size() == parts.front().size(); });
}

/// The same number of neighbouring cores to each; those that are left over lie between them.
Parts divide_evenly(const Cores& cores, std::size_t ranks) {
  const auto each = static_cast<std::ptrdiff_t>(cores.size() / ranks);
  Parts divided;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = cores.begin() + static_cast<std::ptrdiff_t>(rank * cores.size() / ranks);
    divided.emplace_back(first, first + each);
  }
  return divided;
}

/// Consecutive parts become one, so that `count` are left.
Parts merged(const Parts& parts, std::size_t count) {
  Parts wholes(count);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Cores& whole = wholes[i * count / parts.size()];
    whole.insert(whole.end(), parts[i].begin(), parts[i].end());
  }
  return wholes;
}

Parts divide(hwloc_topology_t topology, const Cores& cores, std::size_t ranks, std::size_t level) {
  if (ranks == 1) return {cores};
  if (level == kLevels.size()) return divide_evenly(cores, ranks);
  const Parts parts = parts_by(topology, kLevels[level], cores);
  if (!have_equal_sizes(parts)) return divide_evenly(cores, ranks);
  if (parts.size() % ranks == 0) return merged(parts, ranks);
  if (ranks % parts.size() != 0) return divide_evenly(cores, ranks);
  Parts divided;
  for (const Cores& part : parts) {
    const Parts inner = divide(topology, part, ranks / parts.size(), level + 1);
    divided.insert(divided.end(), inner.begin(), inner.end());
  }
  return divided;
}

RankCpus rank_cpus(const Cores& cores, const CpuConfig& config) {
  RankCpus rank;
  rank.cores = base::narrow<int>(std::ssize(cores));
  if (config.spare_cores >= rank.cores) {
    throw base::ConfigError(
        fmt::format("cpus.spare_cores: a rank of this node has {} core{}, of which {} must not all "
                    "be spare: start fewer ranks on a node, or spare fewer cores",
                    rank.cores, rank.cores == 1 ? "" : "s", config.spare_cores));
  }
  const auto computing = static_cast<std::size_t>(rank.cores - config.spare_cores);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    rank.cpus.insert(rank.cpus.end(), cores[i].begin(), cores[i].end());
    if (i >= computing) continue;
    rank.threads += config.all_hardware_threads ? base::narrow<int>(std::ssize(cores[i])) : 1;
  }
  std::sort(rank.cpus.begin(), rank.cpus.end());
  return rank;
}

/// Says that a rank has parts of several NUMA nodes, though one would hold all of its cores.
std::string straddling(const std::vector<hwloc_obj_t>& numa_nodes, std::size_t rank,
                       const Cpus& cpus) {
  std::set<unsigned> found;
  int largest = 0;
  for (const int cpu : cpus) {
    const hwloc_obj_t node = object_of(numa_nodes, cpu);
    if (node == nullptr) return "";
    found.insert(node->os_index);
    largest = std::max(largest, hwloc_bitmap_weight(node->cpuset));
  }
  if (found.size() < 2 || std::ssize(cpus) > largest) return "";
  return fmt::format(
      "rank {} of the node has the CPUs {}, of the NUMA nodes {}: one would hold them", rank,
      base::cpu_ranges(cpus), fmt::join(found, ", "));
}

/// Says which two ranks have some CPUs in common, though not all; "" if none do.
std::string overlapping(const std::vector<Cpus>& ranks_cpus) {
  for (std::size_t rank = 0; rank < ranks_cpus.size(); ++rank) {
    for (std::size_t other = 0; other < rank; ++other) {
      const Cpus &mine = ranks_cpus[rank], &theirs = ranks_cpus[other];
      Cpus shared;
      std::set_intersection(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                            std::back_inserter(shared));
      if (shared.empty() || mine == theirs) continue;
      return fmt::format("the CPUs of ranks {} and {} of the node overlap: both have {}", other,
                         rank, base::cpu_ranges(shared));
    }
  }
  return "";
}

}  // namespace

CpuPlan plan_cpus(hwloc_topology_t topology, const std::vector<int>& usable, int ranks,
                  const CpuConfig& config) {
  const Cores cores = usable_cores(topology, usable);
  const auto count = static_cast<std::size_t>(ranks);
  CpuPlan plan;
  if (count > cores.size()) {
    if (config.spare_cores == 0) return plan;
    throw base::ConfigError(fmt::format(
        "cpus.spare_cores: {} ranks of this node share {} core{}: there is none to spare", ranks,
        cores.size(), cores.size() == 1 ? "" : "s"));
  }
  plan.idle_cores = base::narrow<int>(std::ssize(cores));
  for (const Cores& part : divide(topology, cores, count, 0)) {
    plan.ranks.push_back(rank_cpus(part, config));
    plan.idle_cores -= plan.ranks.back().cores;
  }
  return plan;
}

std::vector<std::string> faults_of(hwloc_topology_t topology,
                                   const std::vector<std::vector<int>>& ranks_cpus) {
  std::vector<std::string> faults;
  const auto add = [&faults](const std::string& fault) {
    if (!fault.empty()) faults.push_back(fault);
    return !fault.empty();
  };
  add(overlapping(ranks_cpus));
  const std::vector<hwloc_obj_t> numa_nodes = objects_of(topology, HWLOC_OBJ_NUMANODE);
  for (std::size_t rank = 0; rank < ranks_cpus.size(); ++rank) {
    if (add(straddling(numa_nodes, rank, ranks_cpus[rank]))) break;
  }
  return faults;
}

}  // namespace runner
