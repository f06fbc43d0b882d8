// Copies to nodes what they miss of a set.
#include "staging/bring.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/together.h"
#include "staging/hash.h"
#include "staging/node_plan.h"
#include "staging/space.h"

namespace staging {
namespace {

/// Collective over all ranks. The nodes that miss the same packs as this one.
ReadingNodes nodes_that_miss_the_same(const StagingPlan& plan, const runner::Communicator& world,
                                      const runner::Topology& topology) {
  const std::uint64_t mine = hash_of(std::as_bytes(std::span(plan.missing)));
  const std::vector<std::int64_t> sent = {static_cast<std::int64_t>(mine)};
  const std::vector<std::int64_t> of_rank = world.allgather(std::span<const std::int64_t>(sent));
  std::vector<std::uint64_t> of_node(static_cast<std::size_t>(topology.node_count));
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    of_node[static_cast<std::size_t>(topology.node_of_rank[rank])] =
        static_cast<std::uint64_t>(of_rank[rank]);
  }
  return reading_nodes(of_node, topology.node_index);
}

}  // namespace

NodeLoad load_of(const std::vector<StagingPlan>& plans, const StagingConfig& config,
                 const runner::Communicator& world, const runner::Topology& topology) {
  NodeLoad load;
  LargestPack largest;
  for (const StagingPlan& plan : plans) {
    load.bytes_to_write += plan.bytes_to_write();
    for (const std::int64_t number : plan.missing) {
      largest.image = std::max(largest.image, image_bytes(*plan.list, number));
      if ((*plan.list)[number].more_bytes == 0) continue;
      constexpr auto kAlignment = static_cast<std::int64_t>(kDirectAlignment);
      largest.expanded = std::max(largest.expanded, stored_bytes(*plan.list, number) + kAlignment);
    }
  }
  const bool is_scattered = config.mode == StagingMode::kScatter;
  NodeLimits& limits = load.limits;
  runner::together(world, [&] {
    limits = limits_of_node(config.memory_bytes, largest, topology.node.size(),
                            {static_cast<int>(config.readers), static_cast<int>(config.writers)},
                            is_scattered, "/staging/memory_bytes");
  });
  if (is_scattered) {
    const auto lanes = static_cast<int>(world.allreduce_min(std::int64_t{limits.carriers}));
    limits.memory_bytes = limits.memory_bytes / limits.carriers * lanes;
    limits.carriers = lanes;
  }
  return load;
}

namespace {

/// Collective over all ranks. The route of this rank; without packs if it moves none. Each node
/// reads for itself, or all that miss the same share it out. `carriers`: ranks of this node that
/// move packs; the same on all nodes if packs are scattered.
Route route_of(const StagingPlan& plan, StagingMode mode, const runner::Communicator& world,
               const runner::Topology& topology, int carriers) {
  const int rank = topology.node.rank();
  const bool carries = rank < carriers;
  if (mode != StagingMode::kScatter) {
    if (!carries) return {};
    auto shares = shares_of(*plan.list, plan.missing, carriers);
    return {nullptr, {std::move(shares[static_cast<std::size_t>(rank)])}};
  }
  const ReadingNodes nodes = nodes_that_miss_the_same(plan, world, topology);
  auto ring = std::make_shared<const runner::Communicator>(
      world.split(carries ? nodes.group * carriers + rank : -1, topology.node_index));
  if (!carries) return {};
  const auto shares = shares_of(*plan.list, plan.missing, nodes.nodes * carriers);
  Route route{nodes.nodes > 1 ? std::move(ring) : nullptr, {}};
  for (int node = 0; node < nodes.nodes; ++node) {
    route.packs.push_back(shares[static_cast<std::size_t>(node * carriers + rank)]);
  }
  return route;
}

}  // namespace

std::int64_t Transfer::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& packs : route.packs) {
    for (const std::int64_t number : packs) bytes += (*list)[number].bytes;
  }
  return bytes;
}

Transfer transfer_of(std::shared_ptr<const dataset::Dataset> source, const StagingPlan& plan,
                     const PackStore& store, const StagingConfig& config, const NodeLoad& load,
                     const runner::Communicator& world, const runner::Topology& topology) {
  return {std::move(source),
          plan.list,
          store,
          route_of(plan, config.mode, world, topology, load.limits.carriers),
          load.limits.each,
          {config.reuse == Reuse::kVerified ? Durability::kOnDevice : Durability::kCached,
           config.direct_io, load.bytes_to_write, available_memory()}};
}

bool move_all(const Transfer& transfer, const Watch& watch, Moved& moved) {
  // If this rank was told to end, the next set is not begun either.
  if (transfer.route.packs.empty()) return !watch.is_told_to_end();
  Pipeline pipeline(*transfer.source, *transfer.list, transfer.store, transfer.route,
                    transfer.limits, transfer.writing, watch);
  try {
    auto progress = Pipeline::Progress::kUnderWay;
    while (progress == Pipeline::Progress::kUnderWay) progress = pipeline.advance();
    moved = pipeline.moved();
    return progress == Pipeline::Progress::kDone && !watch.is_told_to_end();
  } catch (const base::SystemError& e) {
    moved = pipeline.moved();
    throw base::SystemError(fmt::format("{}; this rank had copied {} of its {} bytes", e.what(),
                                        moved.copied_bytes, transfer.bytes()));
  } catch (const base::Error&) {
    moved = pipeline.moved();
    throw;
  }
}

}  // namespace staging
