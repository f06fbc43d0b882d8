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
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/base/usable_cpus.h"
#include "runner/hwloc_topology.h"
#include "runner/openmp_team.h"

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

/// The first number of OMP_NUM_THREADS, which may be a list; 0 if it is not set.
std::int64_t openmp_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  const std::string value(text);
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
  if (error != std::errc() || threads < 1 || (*end != '\0' && *end != ',')) {
    throw base::ConfigError("OMP_NUM_THREADS: must be a positive number, got '" + value + "'");
  }
  return threads;
}

std::int64_t asked_threads(std::int64_t wanted) { return wanted > 0 ? wanted : openmp_threads(); }

/// The number of threads that OpenMP really gives if asked for `threads`, at most one for each CPU.
/// `limited_by`: see ThreadPlan.
int real_threads(int threads, std::string& limited_by) {
  const OpenMpTeam team = count_team(threads);
  int real = std::min(threads, team.threads);
  if (real < threads) limited_by = limiting_variable(threads);
  const int cpus = base::narrow<int>(team.cpus.size());
  if (cpus == 0 || cpus >= real || binding_variable().empty()) return real;
  limited_by = binding_variable();
  return cpus;
}

/// Collective. How many different CPUs the ranks name.
std::int64_t count_together(const std::vector<std::int64_t>& cpus, const Communicator& node) {
  const auto all = node.gather(std::span<const std::int64_t>(cpus), 0);
  return node.allreduce_max(std::ssize(std::set<std::int64_t>(all.begin(), all.end())));
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
  const std::vector<int> usable = base::process_cpus();
  for (const int cpu : usable) hwloc_bitmap_set(cpus.get(), static_cast<unsigned>(cpu));
  if (usable.empty()) {
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
  const auto bound = static_cast<std::int64_t>(binding.cpu_ids.size());
  const std::int64_t usable = base::usable_cpus();
  // A quota below a rank's number of bound CPUs applies to the node, not to the rank.
  const std::int64_t quota = usable < bound ? usable : INT64_MAX;

  ThreadPlan plan;
  plan.node_cpus = count_together(binding.cpu_ids, node);
  plan.node_cpus = std::max<std::int64_t>(1, std::min(plan.node_cpus, node.allreduce_min(quota)));
  std::array<std::int64_t, 1> sum = {bound};
  node.allreduce_sum(std::span<std::int64_t>(sum));
  const std::int64_t asked = asked_threads(wanted);
  plan.threads = asked > 0
                     ? base::narrow<int>(asked)
                     : real_threads(share_of_cpus(bound, sum[0], plan.node_cpus), plan.limited_by);
  sum[0] = plan.threads;
  node.allreduce_sum(std::span<std::int64_t>(sum));
  plan.node_threads = sum[0];
  // OpenMP puts the first thread of each rank on the first CPU that the rank may use.
  const std::vector<int> team =
      binding_variable().empty() ? std::vector<int>() : count_team(plan.threads).cpus;
  plan.team_cpus = count_together(
      team.empty() ? binding.cpu_ids : std::vector<std::int64_t>(team.begin(), team.end()), node);
  return plan;
}

int plan_threads(std::int64_t wanted, const Binding& binding, int ranks) {
  const std::int64_t asked = asked_threads(wanted);
  if (asked > 0) return base::narrow<int>(asked);
  const auto bound = static_cast<std::int64_t>(binding.cpu_ids.size());
  const std::int64_t cpus =
      std::max<std::int64_t>(1, std::min<std::int64_t>(bound, base::usable_cpus()));
  std::string limited_by;
  return real_threads(share_of_cpus(bound, bound * ranks, cpus), limited_by);
}

std::string oversubscription(const ThreadPlan& plan, const Communicator& world) {
  std::string mine;
  if (plan.oversubscribed()) {
    mine =
        fmt::format("{} threads on {} CPUs of node {}: times will say nothing", plan.node_threads,
                    std::min(plan.node_cpus, plan.team_cpus), base::host_name());
    if (plan.team_cpus < plan.node_cpus) {
      mine += fmt::format("; {} binds them to {} of {} CPUs", base::printable(binding_variable()),
                          plan.team_cpus, plan.node_cpus);
    }
  }
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
