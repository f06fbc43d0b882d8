// Sums what staging did over ranks and nodes.
#include "staging/staging_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>

#include "runner/base/median.h"
#include "runner/base/printable.h"
#include "runner/base/rate_text.h"
#include "runner/base/system_facts.h"

namespace staging {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNamedNodes = 3;
/// A node whose rate is below this part of the median is far below it.
constexpr double kFarBelow = 0.5;
/// A copy that took less time says nothing about a node's storage.
constexpr double kTellingSeconds = 1.0;

/// Bytes of a set that this node's ranks copied, and those that were there already although others
/// were not. Each node's leader counts for its node.
struct NodeBytes {
  std::int64_t copied = 0, resumed = 0;
};

NodeBytes bytes_of(const StagingPlan& plan) {
  NodeBytes bytes;
  for (const std::int64_t number : plan.missing) bytes.copied += (*plan.list)[number].bytes;
  if (!plan.is_staged()) bytes.resumed = plan.bytes - bytes.copied;
  return bytes;
}

Json to_json(const NodeCopy& node) {
  return {{"host", node.host}, {"seconds", node.seconds}, {"bytes_per_second", node.rate()}};
}

/// The nodes' copies, on rank 0 (elsewhere empty).
std::vector<NodeCopy> gather_nodes(const NodeCopy& mine, const runner::Communicator& world,
                                   const runner::Topology& topology) {
  std::vector<std::int64_t> numbers;
  if (topology.is_node_leader()) numbers = {mine.bytes, std::bit_cast<std::int64_t>(mine.seconds)};
  numbers = world.gather(std::span<const std::int64_t>(numbers), 0);
  std::vector<NodeCopy> nodes;
  for (const std::string& host : world.gather(topology.is_node_leader() ? mine.host : "", 0)) {
    if (host.empty()) continue;
    const std::size_t at = 2 * nodes.size();
    nodes.push_back({host, numbers[at], std::bit_cast<double>(numbers[at + 1])});
  }
  return nodes;
}

/// Gives every rank the spread that rank 0 has.
void broadcast_spread(NodeSpread& spread, const runner::Communicator& world) {
  std::array<double, 8> figures = {spread.seconds_min, spread.seconds_median, spread.seconds_max,
                                   spread.rate_min,    spread.rate_median,    spread.rate_mean,
                                   spread.rate_max,    spread.imbalance};
  world.broadcast(std::as_writable_bytes(std::span(figures)), 0);
  std::size_t next = 0;
  for (double* figure :
       {&spread.seconds_min, &spread.seconds_median, &spread.seconds_max, &spread.rate_min,
        &spread.rate_median, &spread.rate_mean, &spread.rate_max, &spread.imbalance}) {
    *figure = figures[next++];
  }
  std::array<std::int64_t, 2> counts = {spread.far_below_median, std::ssize(spread.slowest)};
  world.broadcast(std::as_writable_bytes(std::span(counts)), 0);
  spread.far_below_median = counts[0];
  spread.slowest.resize(static_cast<std::size_t>(counts[1]));
  for (NodeCopy& node : spread.slowest) {
    node.host = world.broadcast(node.host, 0);
    world.broadcast(std::as_writable_bytes(std::span(&node.bytes, 1)), 0);
    world.broadcast(std::as_writable_bytes(std::span(&node.seconds, 1)), 0);
  }
}

bool is_far_below(const NodeCopy& node, double median) {
  return node.seconds >= kTellingSeconds && node.rate() < kFarBelow * median;
}

/// Sets what concerns the nodes that copied.
void compare_rates(std::vector<NodeCopy> copied, NodeSpread& spread) {
  std::ranges::stable_sort(copied, {}, &NodeCopy::rate);
  std::vector<double> rates;
  for (const NodeCopy& node : copied) {
    rates.push_back(node.rate());
    spread.rate_mean += node.rate() / static_cast<double>(copied.size());
  }
  spread.rate_min = rates.front();
  spread.rate_max = rates.back();
  spread.rate_median = base::median_of(rates);
  spread.far_below_median = std::ranges::count_if(
      copied, [&](const NodeCopy& node) { return is_far_below(node, spread.rate_median); });
  copied.resize(std::min(copied.size(), kNamedNodes));
  spread.slowest = std::move(copied);
}

}  // namespace

double NodeCopy::rate() const {
  return bytes > 0 && seconds > 0.0 ? static_cast<double>(bytes) / seconds : 0.0;
}

NodeSpread spread_of(std::span<const NodeCopy> nodes) {
  NodeSpread spread;
  if (nodes.empty()) return spread;
  std::vector<double> seconds;
  std::vector<NodeCopy> copied;
  double sum = 0.0, largest = 0.0;
  for (const NodeCopy& node : nodes) {
    seconds.push_back(node.seconds);
    sum += static_cast<double>(node.bytes);
    largest = std::max(largest, static_cast<double>(node.bytes));
    if (node.rate() > 0.0) copied.push_back(node);
  }
  const auto [least, most] = std::ranges::minmax(seconds);
  spread.seconds_min = least;
  spread.seconds_max = most;
  spread.seconds_median = base::median_of(seconds);
  if (sum > 0.0) spread.imbalance = largest / (sum / static_cast<double>(nodes.size()));
  if (!copied.empty()) compare_rates(std::move(copied), spread);
  return spread;
}

std::vector<std::string> remarks_on_slow_nodes(const NodeSpread& spread) {
  std::vector<std::string> remarks;
  const std::string median = base::rate_text(spread.rate_median);
  for (const NodeCopy& node : spread.slowest) {
    if (!is_far_below(node, spread.rate_median)) continue;
    remarks.push_back(fmt::format("{} staged {}, the median is {}: check its disk (iostat -x 1)",
                                  node.host, base::rate_text(node.rate()), median));
  }
  const std::int64_t others = spread.far_below_median - std::ssize(remarks);
  if (others > 0) {
    remarks.push_back(fmt::format("{} more staged less than half of the median, which is {}",
                                  base::counted(others, "node"), median));
  }
  return remarks;
}

StagingFacts facts_of(StagingMode mode, const StagingPlan& plan, const RankEffort& effort,
                      const runner::Communicator& world, const runner::Topology& topology) {
  const bool leads = topology.is_node_leader();
  const NodeBytes bytes = bytes_of(plan);
  std::vector<std::int64_t> sums = {effort.source_reads,       effort.source_bytes,
                                    effort.network_bytes,      effort.written_bytes,
                                    effort.direct_bytes,       leads ? std::ssize(plan.packs) : 0,
                                    leads ? plan.samples : 0,  leads ? plan.bytes : 0,
                                    leads ? bytes.resumed : 0, leads && plan.is_staged() ? 1 : 0};
  world.allreduce_sum(std::span(sums));
  StagingFacts facts;
  facts.mode = mode;
  facts.nodes = topology.node_count;
  std::size_t next = 0;
  for (std::int64_t* sum :
       {&facts.effort.source_reads, &facts.effort.source_bytes, &facts.effort.network_bytes,
        &facts.effort.written_bytes, &facts.effort.direct_bytes, &facts.packs, &facts.samples,
        &facts.bytes, &facts.resumed_bytes, &facts.reused_nodes}) {
    *sum = sums[next++];
  }
  facts.effort.memory_bytes = world.allreduce_max(effort.memory_bytes);
  facts.effort.planning_s = world.allreduce_max(effort.planning_s);
  const NodeCopy mine = {base::printable(base::host_name()), bytes.copied,
                         topology.node.allreduce_max(effort.copying_s)};
  facts.spread = spread_of(gather_nodes(mine, world, topology));
  broadcast_spread(facts.spread, world);
  facts.effort.copying_s = facts.spread.seconds_max;
  return facts;
}

void StagingFacts::set_overlap(std::int64_t node_left_bytes, const runner::Communicator& world,
                               const runner::Topology& topology) {
  std::int64_t left = topology.is_node_leader() ? node_left_bytes : 0;
  world.allreduce_sum(std::span(&left, 1));
  overlaps = true;
  left_bytes = left;
}

nlohmann::json to_json(const StagingFacts& facts) {
  if (facts.mode == StagingMode::kStream) return {{"mode", to_string(facts.mode)}};
  const NodeSpread& spread = facts.spread;
  Json slowest = Json::array();
  for (const NodeCopy& node : spread.slowest) slowest.push_back(to_json(node));
  return {{"mode", to_string(facts.mode)},
          {"nodes", facts.nodes},
          {"reused_nodes", facts.reused_nodes},
          {"reused", facts.reused_nodes == facts.nodes},
          {"packs", facts.packs},
          {"samples", facts.samples},
          {"bytes", facts.bytes},
          {"resumed_bytes", facts.resumed_bytes},
          {"overlap", facts.overlaps},
          {"left_bytes", facts.left_bytes},
          {"source_reads", facts.effort.source_reads},
          {"source_bytes", facts.effort.source_bytes},
          {"network_bytes", facts.effort.network_bytes},
          {"written_bytes", facts.effort.written_bytes},
          {"direct_bytes", facts.effort.direct_bytes},
          {"memory_bytes", facts.effort.memory_bytes},
          {"planning_s", facts.effort.planning_s},
          {"seconds",
           {{"min", spread.seconds_min},
            {"median", spread.seconds_median},
            {"max", spread.seconds_max}}},
          {"bytes_per_second",
           {{"min", spread.rate_min},
            {"median", spread.rate_median},
            {"mean", spread.rate_mean},
            {"max", spread.rate_max}}},
          {"imbalance", spread.imbalance},
          {"slowest", std::move(slowest)}};
}

}  // namespace staging
