// Adds up what the nodes of a job need, have and read.
#include "staging/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <span>

#include "runner/base/printable.h"
#include "runner/node_hosts.h"
#include "runner/together.h"
#include "staging/hash.h"
#include "staging/naming_host.h"
#include "staging/space.h"

namespace staging {
namespace {

constexpr std::int64_t kMostExamined = 1000;

/// Means over samples of a set.
struct MeanBytes {
  double source = 0.0, copy = 0.0;
};

/// Collective. Of samples spread over the set.
MeanBytes mean_sample_bytes(const dataset::Dataset& source, Compressed compressed,
                            const runner::Communicator& world) {
  const std::int64_t size = source.size(), examined = std::min(size, kMostExamined);
  const bool expand = compressed == Compressed::kExpanded;
  std::vector<std::int64_t> bytes = {0, 0};
  const auto examine_mine = [&] {
    for (std::int64_t i = world.rank(); i < examined; i += world.size()) {
      const auto index = static_cast<std::int64_t>(
          static_cast<double>(i) * static_cast<double>(size) / static_cast<double>(examined));
      const std::int64_t at = std::min(index, size - 1);
      const auto stamp = expand ? source.stamp_to_expand(at) : source.stamp(at);
      bytes[0] += stamp.bytes;
      bytes[1] += std::max(stamp.bytes, stamp.expanded_bytes);
      world.activity().progress();
    }
  };
  runner::together(world, [&] { naming_host(examine_mine); });
  world.allreduce_sum(std::span(bytes));
  const auto samples = static_cast<double>(std::max<std::int64_t>(examined, 1));
  return {static_cast<double>(bytes[0]) / samples, static_cast<double>(bytes[1]) / samples};
}

std::int64_t count_of(const Ranges& ranges) {
  return std::accumulate(
      ranges.begin(), ranges.end(), std::int64_t{0},
      [](std::int64_t sum, const auto& range) { return sum + range.second - range.first; });
}

std::int64_t hash_of_numbers(const std::vector<std::int64_t>& numbers) {
  return static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(numbers))));
}

std::int64_t rounded(double bytes) { return std::llround(bytes); }

/// The members of NodeNeeds in a message.
constexpr std::array kNumbers = {
    &NodeNeeds::needed,      &NodeNeeds::samples,     &NodeNeeds::missing,
    &NodeNeeds::to_write,    &NodeNeeds::lack,        &NodeNeeds::room,
    &NodeNeeds::cache_bytes, &NodeNeeds::epoch_bytes, &NodeNeeds::copied};

/// Collective. Those of the leaders' nodes, by node index.
std::vector<NodeNeeds> gather_needs(const NodeNeeds& mine, const runner::Communicator& world,
                                    const runner::Topology& topology) {
  std::vector<std::int64_t> numbers = {topology.is_node_leader() ? topology.node_index : -1,
                                       mine.is_in_memory ? 1 : 0};
  for (const auto member : kNumbers) numbers.push_back(mine.*member);
  const std::vector<std::int64_t> all = world.allgather(numbers);
  std::vector<NodeNeeds> nodes(static_cast<std::size_t>(topology.node_count));
  for (auto at = all.begin(); at != all.end(); at += std::ssize(numbers)) {
    if (at[0] < 0) continue;
    NodeNeeds& node = nodes[static_cast<std::size_t>(at[0])];
    node.is_in_memory = at[1] != 0;
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      node.*kNumbers[i] = at[static_cast<std::ptrdiff_t>(i) + 2];
    }
  }
  return nodes;
}

void learn_room(const StagingConfig& config, const Outlook& outlook, NodeNeeds& mine) {
  const Space space = space_near(config.directory);
  mine.is_in_memory = space.is_in_memory;
  mine.room = space.free_bytes;
  if (space.is_in_memory) mine.room = std::max<std::int64_t>(0, mine.room - outlook.memory_bytes);
  mine.cache_bytes = config.given.cache_bytes.value_or(
      std::max<std::int64_t>(0, available_memory() - outlook.memory_bytes));
}

Horizon horizon_of(const std::vector<NodeNeeds>& nodes, const StagingConfig& config,
                   const Outlook& outlook) {
  Horizon horizon;
  horizon.epochs = outlook.epochs;
  horizon.compute_s = config.given.epoch_compute_s.value_or(outlook.epoch_compute_s);
  horizon.cache_bytes = nodes.front().cache_bytes;
  for (const NodeNeeds& node : nodes) {
    const auto bytes = static_cast<double>(node.epoch_bytes);
    horizon.epoch_bytes = std::max(horizon.epoch_bytes, bytes);
    horizon.epoch_bytes_of_all += bytes;
    horizon.cache_bytes = std::min(horizon.cache_bytes, node.cache_bytes);
  }
  return horizon;
}

}  // namespace

Sizes sizes_of(const std::vector<NodeNeeds>& nodes, const std::vector<std::string>& hosts) {
  Sizes sizes;
  sizes.nodes = static_cast<int>(nodes.size());
  std::map<std::int64_t, std::pair<int, std::int64_t>> classes;  // by lack: nodes, bytes
  std::int64_t needed = 0, copied = 0, samples = 0, worst = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeNeeds& node = nodes[i];
    needed += node.needed;
    copied += node.copied;
    samples += node.samples;
    sizes.needed = std::max(sizes.needed, node.needed);
    sizes.missing = std::max(sizes.missing, node.missing);
    sizes.missing_of_all += node.missing;
    if (node.missing > 0) {
      auto& [count, bytes] = classes[node.lack];
      ++count;
      bytes = std::max(bytes, node.missing);
      sizes.class_nodes = std::max(sizes.class_nodes, count);
    }
    if (node.to_write - node.room <= worst) continue;
    worst = node.to_write - node.room;
    sizes.too_small = fmt::format("node {} ({}): {} are needed, {} are free{}", i, hosts[i],
                                  base::bytes_text(node.to_write), base::bytes_text(node.room),
                                  node.is_in_memory ? " in memory (tmpfs)" : "");
  }
  for (const auto& [lack, found] : classes) sizes.missing_once += found.second;
  if (needed > 0) sizes.growth = static_cast<double>(copied) / static_cast<double>(needed);
  if (samples > 0) sizes.sample_bytes = static_cast<double>(needed) / static_cast<double>(samples);
  return sizes;
}

Survey look_around(const std::vector<Wanted>& sets, const StagingConfig& config,
                   const Outlook& outlook, const Place& place) {
  const auto& [world, topology, clock] = place;
  Survey survey;
  NodeNeeds mine;
  std::vector<std::int64_t> lacks;
  double needed = 0.0, copied = 0.0, epoch_bytes = 0.0;
  for (const Wanted& set : sets) {
    const auto [bytes, copy_bytes] = mean_sample_bytes(*set.source, config.compressed, world);
    const Ranges ranges = needed_on_node(set.ranges, topology.node);
    std::vector<double> samples = {set.samples_per_epoch};
    topology.node.allreduce_sum(std::span(samples));
    epoch_bytes += samples[0] * bytes;
    mine.samples += count_of(ranges);
    needed += static_cast<double>(count_of(ranges)) * bytes;
    copied += static_cast<double>(count_of(ranges)) * copy_bytes;
    lacks.push_back(std::ssize(ranges));
    for (const auto& [first, last] : ranges) lacks.insert(lacks.end(), {first, last});
    survey.sample_bytes.push_back(bytes);
    survey.ranges.push_back(ranges);
  }
  mine.needed = mine.missing = rounded(needed);
  mine.copied = mine.to_write = rounded(copied);
  mine.epoch_bytes = rounded(epoch_bytes);
  mine.lack = hash_of_numbers(lacks);
  runner::together(world, [&] {
    if (topology.is_node_leader()) naming_host([&] { learn_room(config, outlook, mine); });
  });
  survey.nodes = gather_needs(mine, world, topology);
  survey.hosts = runner::node_hosts(world, topology);
  survey.sizes = sizes_of(survey.nodes, survey.hosts);
  survey.horizon = horizon_of(survey.nodes, config, outlook);
  return survey;
}

void be_exact(Survey& survey, const std::vector<StagingPlan>& plans,
              const runner::Communicator& world, const runner::Topology& topology) {
  NodeNeeds mine = survey.nodes[static_cast<std::size_t>(topology.node_index)];
  mine.needed = mine.copied = mine.samples = mine.missing = mine.to_write = 0;
  std::vector<std::int64_t> lacks;
  for (const StagingPlan& plan : plans) {
    mine.needed += plan.bytes;
    mine.copied += plan.copy_bytes;
    mine.samples += plan.samples;
    mine.to_write += plan.bytes_to_write();
    for (const std::int64_t number : plan.missing) mine.missing += (*plan.list)[number].bytes;
    lacks.push_back(std::ssize(plan.missing));
    lacks.insert(lacks.end(), plan.missing.begin(), plan.missing.end());
  }
  mine.lack = hash_of_numbers(lacks);
  survey.nodes = gather_needs(mine, world, topology);
  survey.sizes = sizes_of(survey.nodes, survey.hosts);
}

}  // namespace staging
