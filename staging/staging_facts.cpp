// Sums what staging did over ranks and nodes.
#include "staging/staging_facts.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace staging {
namespace {

double smallest(const runner::Communicator& world, double value) {
  return -world.allreduce_max(-value);
}

}  // namespace

StagingFacts facts_of(StagingMode mode, const StagingPlan& plan, const RankEffort& effort,
                      const runner::Communicator& world, const runner::Topology& topology) {
  constexpr double kNoRate = std::numeric_limits<double>::infinity();
  // Each node's leader counts for its node.
  const bool leads = topology.is_node_leader();
  const bool copied = leads && !plan.is_staged() && effort.seconds > 0.0;
  std::int64_t copied_bytes = 0;
  for (const std::int64_t number : plan.missing) copied_bytes += (*plan.list)[number].bytes;
  const double rate = copied ? static_cast<double>(copied_bytes) / effort.seconds : 0.0;
  std::vector<std::int64_t> sums = {effort.source_reads, leads ? std::ssize(plan.packs) : 0,
                                    leads ? plan.samples : 0, leads ? plan.bytes : 0,
                                    leads && plan.is_staged() ? 1 : 0};
  world.allreduce_sum(std::span(sums));
  std::vector<double> rates = {rate, copied ? 1.0 : 0.0};
  world.allreduce_sum(std::span(rates));
  StagingFacts facts;
  facts.mode = mode;
  facts.nodes = topology.node_count;
  facts.source_reads = sums[0];
  facts.files = sums[1];
  facts.samples = sums[2];
  facts.bytes = sums[3];
  facts.reused_nodes = sums[4];
  facts.seconds = world.allreduce_max(effort.seconds);
  const double least = smallest(world, copied ? rate : kNoRate);
  facts.bytes_per_second_max = world.allreduce_max(rate);
  facts.bytes_per_second_min = rates[1] > 0.0 ? least : 0.0;
  facts.bytes_per_second_mean = rates[1] > 0.0 ? rates[0] / rates[1] : 0.0;
  return facts;
}

nlohmann::json to_json(const StagingFacts& facts) {
  if (facts.mode == StagingMode::kStream) return {{"mode", to_string(facts.mode)}};
  return {{"mode", to_string(facts.mode)},
          {"nodes", facts.nodes},
          {"reused_nodes", facts.reused_nodes},
          {"reused", facts.reused_nodes == facts.nodes},
          {"files", facts.files},
          {"samples", facts.samples},
          {"bytes", facts.bytes},
          {"source_reads", facts.source_reads},
          {"seconds", facts.seconds},
          {"bytes_per_second",
           {{"min", facts.bytes_per_second_min},
            {"mean", facts.bytes_per_second_mean},
            {"max", facts.bytes_per_second_max}}}};
}

}  // namespace staging
