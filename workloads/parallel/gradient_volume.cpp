// Pieces and their bytes.
#include "workloads/parallel/gradient_volume.h"

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/narrow_sum.h"
#include "workloads/parallel/shard_sum.h"

namespace parallel {
namespace {

/// Enough to balance the work and to start the exchange early in the backward pass.
constexpr std::int64_t kPiecesOfOwner = 8;

/// A piece of `floats` gradients, by the owner on one of the nodes.
runner::SentVolume piece_volume(const GradientTravel& travel, std::int64_t floats,
                                std::int64_t nodes, std::int64_t node) {
  const auto ranks = static_cast<int>(nodes), rank = static_cast<int>(node);
  const auto bytes = [&](std::pair<std::int64_t, std::int64_t> range) {
    return narrow_bytes(travel.payload, range.second - range.first);
  };
  const std::int64_t all = bytes({0, floats});
  if (travel.payload == GradientPayload::kTopK) {
    return (nodes - 1) *
           runner::SentVolume{top_k_of(travel.density, floats) * kSparseValueBytes, 1};
  }
  if (!travel.is_exact()) {
    return runner::sent_for_parts(all, std::min(base::ceil_div(floats, kFormatBlock), nodes),
                                  bytes(narrow_part_of(floats, ranks, rank)), nodes);
  }
  if (travel.divided_update) {
    return runner::sent_for_parts(all, std::min(base::ceil_div(floats, nn::kUpdateCell), nodes),
                                  bytes(shard_of(floats, ranks, rank)), nodes);
  }
  return runner::sent_for_direct_sum(floats, nodes, node);
}

void keep_larger(runner::SentVolume& most, const runner::SentVolume& one) {
  most.bytes = std::max(most.bytes, one.bytes);
  most.messages = std::max(most.messages, one.messages);
}

}  // namespace

OwnerGrid OwnerGrid::of(const std::vector<std::int64_t>& sizes) {
  return {std::ssize(sizes), *std::ranges::min_element(sizes)};
}

std::int64_t piece_floats(const GradientTravel& travel, std::int64_t floats,
                          const OwnerGrid& grid) {
  // Nodes that divide a piece get as many cells each.
  const std::int64_t sharers = travel.divided_update ? grid.nodes : 1;
  const std::int64_t configured = travel.piece_floats, owners = grid.owners;
  if (configured > 0) {
    const std::int64_t least = base::ceil_div(floats, kMostPieces * owners);
    if (sharers == 1 && least <= configured) return configured;
    return base::round_up(std::max(configured, least), sharers * nn::kUpdateCell);
  }
  const std::int64_t even = base::ceil_div(floats, kPiecesOfOwner * owners);
  constexpr std::int64_t kMostCells = kLargestPieceFloats / nn::kUpdateCell;
  const std::int64_t cells = std::min(base::ceil_div(even, nn::kUpdateCell), kMostCells);
  // At least a cell for each, and no more than the most where that is possible.
  std::int64_t of_each = base::ceil_div(cells, sharers);
  if (of_each * sharers > kMostCells) of_each = std::max<std::int64_t>(1, of_each - 1);
  return std::max<std::int64_t>(1, of_each * sharers) * nn::kUpdateCell;
}

runner::SentVolume gradient_volume(const GradientTravel& travel, std::int64_t floats,
                                   const OwnerGrid& grid, std::int64_t node, std::int64_t owner) {
  if (grid.nodes <= 1) return {};
  const std::int64_t piece = piece_floats(travel, floats, grid);
  const std::int64_t whole = floats / piece, rest = floats % piece;
  const std::int64_t mine = base::ceil_div(whole - owner, grid.owners);  // of whole pieces
  runner::SentVolume sent = mine * piece_volume(travel, piece, grid.nodes, node);
  if (rest > 0 && whole % grid.owners == owner) {
    sent += piece_volume(travel, rest, grid.nodes, node);
  }
  return sent;
}

runner::NodeTraffic node_traffic(const GradientTravel& travel, std::int64_t floats,
                                 const OwnerGrid& grid) {
  runner::NodeTraffic traffic;
  if (grid.nodes > 1) traffic.rounds = travel.payload == GradientPayload::kTopK ? 1 : 2;
  for (std::int64_t node = 0; node < grid.nodes; ++node) {
    runner::SentVolume of_node;
    for (std::int64_t owner = 0; owner < grid.owners; ++owner) {
      const runner::SentVolume one = gradient_volume(travel, floats, grid, node, owner);
      keep_larger(traffic.rank, one);
      of_node += one;
    }
    keep_larger(traffic.node, of_node);
    traffic.all += of_node;
  }
  return traffic;
}

}  // namespace parallel
