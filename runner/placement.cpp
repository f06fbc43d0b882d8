// Reads bindings through hwloc and computes threads per rank.
#include "runner/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/narrow.h"
#include "runner/base/system_facts.h"
#include "runner/hwloc_topology.h"

namespace runner {
namespace {

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, BitmapDeleter>;

std::string list_text(hwloc_const_bitmap_t bitmap) {
  const int size = hwloc_bitmap_list_snprintf(nullptr, 0, bitmap);
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  hwloc_bitmap_list_snprintf(text.data(), text.size(), bitmap);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

int objects_touched(hwloc_topology_t topology, hwloc_const_bitmap_t cpus, hwloc_obj_type_t type) {
  int touched = 0;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object)) {
    if (hwloc_bitmap_intersects(object->cpuset, cpus) != 0) ++touched;
  }
  return touched;
}

/// The first number of an environment variable, which may be a list; 0 if it is not set.
std::int64_t number_of(const std::string& variable) {
  const char* text = std::getenv(variable.c_str());
  if (text == nullptr || *text == '\0') return 0;
  const std::string value(text);
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
  if (error != std::errc() || threads < 1 || (*end != '\0' && *end != ',')) {
    throw base::ConfigError(variable + ": must be a positive number, got '" + value + "'");
  }
  return threads;
}

std::int64_t asked_threads(std::int64_t wanted) {
  return wanted > 0 ? wanted : number_of("OMP_NUM_THREADS");
}

/// Applies OpenMP's thread limit to a computed number of threads.
int within_limit(int threads) {
  const std::int64_t limit = number_of("OMP_THREAD_LIMIT");
  return limit > 0 ? base::narrow<int>(std::min<std::int64_t>(threads, limit)) : threads;
}

}  // namespace

TopologyHandle load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw base::SystemError("hwloc_topology_init failed");
  TopologyHandle topology(raw);
  if (hwloc_topology_load(raw) != 0) throw base::SystemError("hwloc_topology_load failed");
  return topology;
}

Binding current_binding() {
  const TopologyHandle topology = load_topology();
  const Bitmap cpus(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), cpus.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(cpus.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  }
  Binding binding;
  binding.cpus = list_text(cpus.get());
  for (int cpu = hwloc_bitmap_first(cpus.get()); cpu >= 0;
       cpu = hwloc_bitmap_next(cpus.get(), cpu)) {
    binding.cpu_ids.push_back(cpu);
  }
  binding.cores = objects_touched(topology.get(), cpus.get(), HWLOC_OBJ_CORE);
  binding.numa_nodes = objects_touched(topology.get(), cpus.get(), HWLOC_OBJ_NUMANODE);
  return binding;
}

std::int64_t allowed_cpus() {
  const TopologyHandle topology = load_topology();
  return hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(topology.get()));
}

int share_of_cpus(std::int64_t mine, std::int64_t claimed, std::int64_t node_cpus) {
  if (claimed <= node_cpus) return std::max(1, base::narrow<int>(mine));
  return std::max(1, base::narrow<int>(mine * node_cpus / claimed));
}

ThreadPlan plan_threads(std::int64_t wanted, const Binding& binding, const Communicator& node) {
  const auto all = node.gather(std::span<const std::int64_t>(binding.cpu_ids), 0);
  const std::set<std::int64_t> together(all.begin(), all.end());
  const auto bound = static_cast<std::int64_t>(binding.cpu_ids.size());
  const std::int64_t usable = base::usable_cpus();
  // A quota below a rank's number of bound CPUs applies to the node, not to the rank.
  const std::int64_t quota = usable < bound ? usable : INT64_MAX;

  ThreadPlan plan;
  plan.node_cpus = node.allreduce_max(static_cast<std::int64_t>(together.size()));
  plan.node_cpus = std::max<std::int64_t>(1, std::min(plan.node_cpus, node.allreduce_min(quota)));
  std::array<std::int64_t, 1> sum = {bound};
  node.allreduce_sum(std::span<std::int64_t>(sum));
  const std::int64_t asked = asked_threads(wanted);
  plan.threads = asked > 0 ? base::narrow<int>(asked)
                           : within_limit(share_of_cpus(bound, sum[0], plan.node_cpus));
  sum[0] = plan.threads;
  node.allreduce_sum(std::span<std::int64_t>(sum));
  plan.node_threads = sum[0];
  return plan;
}

int plan_threads(std::int64_t wanted, const Binding& binding, int ranks) {
  const std::int64_t asked = asked_threads(wanted);
  if (asked > 0) return base::narrow<int>(asked);
  const auto bound = static_cast<std::int64_t>(binding.cpu_ids.size());
  const std::int64_t cpus =
      std::max<std::int64_t>(1, std::min<std::int64_t>(bound, base::usable_cpus()));
  return within_limit(share_of_cpus(bound, bound * ranks, cpus));
}

std::string oversubscription(const ThreadPlan& plan, const Communicator& world) {
  const std::string mine =
      plan.oversubscribed()
          ? fmt::format("{} threads on {} CPUs of node {}: times will say nothing",
                        plan.node_threads, plan.node_cpus, base::host_name())
          : "";
  for (const std::string& found : world.gather(mine, 0)) {
    if (!found.empty()) return found;
  }
  return "";
}

nlohmann::json to_json(const Binding& binding, const ThreadPlan& plan) {
  return {{"cpus", binding.cpus},
          {"cores", binding.cores},
          {"numa_nodes", binding.numa_nodes},
          {"threads", plan.threads},
          {"node_threads", plan.node_threads},
          {"node_cpus", plan.node_cpus}};
}

}  // namespace runner
