// Reads bindings through hwloc, gives ranks their CPUs, and computes threads per rank.
#include "runner/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "runner/base/narrow.h"
#include "runner/base/printable.h"
#include "runner/base/system_facts.h"
#include "runner/base/usable_cpus.h"
#include "runner/cpu_plan.h"
#include "runner/hwloc_topology.h"
#include "runner/openmp_team.h"
#include "runner/together.h"

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
  const std::vector<hwloc_obj_t> all = objects_of(topology, type);
  return base::narrow<int>(std::count_if(all.begin(), all.end(), [cpus](hwloc_obj_t object) {
    return hwloc_bitmap_intersects(object->cpuset, cpus) != 0;
  }));
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

namespace {

/// What this rank has before OpenMP starts its team.
struct Room {
  std::int64_t threads = 1;  ///< that fit this rank's part of the CPUs
  bool leaves_cpus = false;  ///< fewer than its CPUs
  /// The control group's CPUs if they are fewer than this rank's. They are the node's, not the
  /// rank's.
  std::int64_t quota = INT64_MAX;
};

/// Collective.
ThreadPlan plan_threads(std::int64_t wanted, const Room& room, const Binding& binding,
                        const Communicator& node) {
  ThreadPlan plan;
  plan.node_cpus = count_together(binding.cpu_ids, node);
  plan.node_cpus =
      std::max<std::int64_t>(1, std::min(plan.node_cpus, node.allreduce_min(room.quota)));
  std::array<std::int64_t, 1> sum = {room.threads};
  node.allreduce_sum(std::span<std::int64_t>(sum));
  const std::int64_t asked = asked_threads(wanted);
  plan.threads = asked > 0 ? base::narrow<int>(asked)
                           : real_threads(share_of_cpus(room.threads, sum[0], plan.node_cpus),
                                          plan.limited_by);
  plan.leaves_cpus = asked == 0 && room.leaves_cpus;
  sum[0] = plan.threads;
  node.allreduce_sum(std::span<std::int64_t>(sum));
  plan.node_threads = sum[0];
  const bool is_spare = plan.threads < std::ssize(binding.cpu_ids) &&
                        plan.node_threads + node.size() <= plan.node_cpus;
  plan.has_spare_cpu = node.allreduce_min(std::int64_t{is_spare}) > 0;
  // OpenMP puts the first thread of each rank on the first CPU that the rank may use.
  const std::vector<int> team =
      binding_variable().empty() ? std::vector<int>() : count_team(plan.threads).cpus;
  plan.team_cpus = count_together(
      team.empty() ? binding.cpu_ids : std::vector<std::int64_t>(team.begin(), team.end()), node);
  return plan;
}

std::vector<int> cpus_of(const Binding& binding) {
  return {binding.cpu_ids.begin(), binding.cpu_ids.end()};
}

/// Collective. The CPUs of every rank of the node.
std::vector<std::vector<int>> gather_cpus(const Binding& binding, const Communicator& node) {
  constexpr std::int64_t kNone = -1;
  std::vector<std::int64_t> mine = binding.cpu_ids;
  mine.resize(static_cast<std::size_t>(node.allreduce_max(std::ssize(mine))), kNone);
  const std::vector<std::int64_t> all = node.allgather(std::span<const std::int64_t>(mine));
  std::vector<std::vector<int>> everyone(static_cast<std::size_t>(node.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != kNone) everyone[i / mine.size()].push_back(base::narrow<int>(all[i]));
  }
  return everyone;
}

/// The ranks of a node that may use exactly the CPUs of one of them.
struct Group {
  int size = 0;
  int index = 0;  ///< of that one, among them
};

Group group_of(const std::vector<std::vector<int>>& everyone, int rank) {
  Group group;
  const auto& mine = everyone[static_cast<std::size_t>(rank)];
  for (int other = 0; other < static_cast<int>(everyone.size()); ++other) {
    if (everyone[static_cast<std::size_t>(other)] != mine) continue;
    if (other < rank) ++group.index;
    ++group.size;
  }
  return group;
}

void bind_this_process(const std::vector<int>& cpus) {
  if (base::bind_this_thread(cpus)) return;
  const int error = errno;
  throw base::system_error("a rank cannot be bound to the CPUs " + base::cpu_ranges(cpus), error);
}

const char* name_of(BoundBy who) {
  switch (who) {
    case BoundBy::kNobody:
      return "nobody";
    case BoundBy::kLauncher:
      return "launcher";
    case BoundBy::kProgram:
      return "trainmark";
  }
  return "";
}

/// Collective. On the node's first rank, such as "2 ranks on node7, bound by launcher: CPUs 0-27
/// with 28 threads; 28-55 with 28 threads".
std::string summary_of(const Place& place, const Communicator& node) {
  constexpr std::size_t kMostRanks = 8;
  auto parts = node.gather(fmt::format("{} with {}{}", place.binding.cpus,
                                       base::counted(place.threads.threads, "thread"),
                                       place.has_progress_thread ? " and a progress thread" : ""),
                           0);
  if (node.rank() != 0) return "";
  const bool is_cut = parts.size() > kMostRanks;
  if (is_cut) parts.resize(kMostRanks);
  return fmt::format("{} on {}, bound by {}: CPUs {}{}", base::counted(node.size(), "rank"),
                     base::host_name(), name_of(place.bound_by), fmt::join(parts, "; "),
                     is_cut ? "; ..." : "");
}

/// Collective. On rank 0 what is wrong on the first node where something is, each with the node's
/// name. `mine`: on the first rank of each node.
std::vector<std::string> first_faults(const std::vector<std::string>& mine,
                                      const Communicator& world) {
  std::string text;
  for (const std::string& fault : mine) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", base::host_name(), fault);
  }
  std::vector<std::string> faults;
  for (const std::string& found : world.gather(text, 0)) {
    if (found.empty()) continue;
    std::istringstream lines(found);
    for (std::string line; std::getline(lines, line);) faults.push_back(line);
    break;
  }
  return faults;
}

}  // namespace

bool wants_progress_thread(Progress progress, const ThreadPlan& plan) {
  if (progress == Progress::kAuto) return plan.leaves_cpus && plan.has_spare_cpu;
  return progress == Progress::kThread;
}

Place take_place(const CpuConfig& config, std::int64_t threads, const Communicator& world,
                 const Communicator& node) {
  const TopologyHandle topology = load_topology();
  Place place;
  place.binding = current_binding();
  const Group group = group_of(gather_cpus(place.binding, node), node.rank());
  const bool is_common = group.size == node.size();
  const bool has_all = std::ssize(place.binding.cpu_ids) == allowed_cpus();
  place.bound_by = is_common && has_all ? BoundBy::kNobody : BoundBy::kLauncher;
  CpuPlan plan;
  std::int64_t asked = 0;
  together(world, [&] {
    asked = asked_threads(threads);
    plan = plan_cpus(topology.get(), cpus_of(place.binding), group.size, config);
  });
  const bool is_planned = !plan.ranks.empty();
  const int bound = base::narrow<int>(std::ssize(place.binding.cpu_ids));
  const RankCpus mine = is_planned ? plan.ranks[static_cast<std::size_t>(group.index)]
                                   : RankCpus{cpus_of(place.binding), 0, bound};
  const std::int64_t usable = base::usable_cpus();
  const Room room{mine.threads, mine.threads < std::ssize(mine.cpus),
                  usable < bound ? usable : INT64_MAX};
  const bool fits = group.size == 1 || (is_planned && asked <= std::ssize(mine.cpus));
  const bool may_bind = config.binds && binding_variable().empty() && fits;
  // All or none, so that no rank's part is used by others.
  const bool binds = node.allreduce_min(std::int64_t{may_bind}) > 0 && group.size > 1;
  if (binds) {
    bind_this_process(mine.cpus);
    place.bound_by = BoundBy::kProgram;
    place.binding = current_binding();
  }
  place.threads = plan_threads(threads, room, place.binding, node);
  place.has_progress_thread =
      world.size() > 1 && wants_progress_thread(config.progress, place.threads);
  place.summary = summary_of(place, node);
  const auto cpus_of_all = gather_cpus(place.binding, node);
  std::vector<std::string> faults;
  if (node.rank() == 0) faults = faults_of(topology.get(), cpus_of_all);
  if (config.ranks_per_node > 0 && config.ranks_per_node != node.size()) {
    faults.push_back(fmt::format("/cpus/ranks_per_node: expected {}, started {}",
                                 base::counted(config.ranks_per_node, "rank"), node.size()));
  }
  if (binds && is_common && plan.idle_cores > 0) {
    faults.push_back(
        fmt::format("{} stay idle: {} ranks with the same number of cores leave them "
                    "over",
                    base::counted(plan.idle_cores, "core"), node.size()));
  }
  if (node.rank() != 0) faults.clear();
  place.faults = first_faults(faults, world);
  return place;
}

int planned_threads(const CpuConfig& config, std::int64_t threads, int ranks) {
  const Binding binding = current_binding();
  const CpuPlan plan = plan_cpus(load_topology().get(), cpus_of(binding), ranks, config);
  const std::int64_t asked = asked_threads(threads);
  if (asked > 0) return base::narrow<int>(asked);
  const std::int64_t bound = std::ssize(binding.cpu_ids);
  const std::int64_t room = plan.ranks.empty() ? bound : plan.ranks.front().threads;
  const std::int64_t cpus =
      std::max<std::int64_t>(1, std::min<std::int64_t>(bound, base::usable_cpus()));
  std::string limited_by;
  return real_threads(share_of_cpus(room, room * ranks, cpus), limited_by);
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

nlohmann::json to_json(const Place& place) {
  return {{"cpus", place.binding.cpus},
          {"cores", place.binding.cores},
          {"numa_nodes", place.binding.numa_nodes},
          {"threads", place.threads.threads},
          {"node_threads", place.threads.node_threads},
          {"node_cpus", place.threads.node_cpus},
          {"bound_by", name_of(place.bound_by)},
          {"progress", place.has_progress_thread ? "thread" : "layers"}};
}

}  // namespace runner
