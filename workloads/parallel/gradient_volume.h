// What ranks send between nodes for a step's gradients: how a block is cut into pieces, who owns
// them, and what an owner sends. GradientExchange performs it.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/training_scale.h"
#include "workloads/parallel/gradient_travel.h"

namespace parallel {

/// Usual pieces have at most as many floats: 4 MiB.
inline constexpr std::int64_t kLargestPieceFloats = std::int64_t{1} << 20;
/// Pieces of an owner, whatever is configured: every look at messages looks at all pieces.
inline constexpr std::int64_t kMostPieces = 1000;

/// The nodes of a job. As many ranks of each node own pieces as its smallest node has.
struct OwnerGrid {
  std::int64_t nodes = 1, owners = 1;
  /// `sizes`: ranks by node.
  static OwnerGrid of(const std::vector<std::int64_t>& sizes);
};

/// Floats of a piece of a block of `floats`; the last may be shorter.
std::int64_t piece_floats(const GradientTravel& travel, std::int64_t floats, const OwnerGrid& grid);

/// What an owner sends to other nodes in a step, for a block of `floats` gradients in pieces of
/// piece_floats(): exactly what telemetry counts (gradient_bytes_sent, gradient_messages_sent). The
/// pieces that the first steps try instead (PieceTrials) change who sends how much in how many
/// messages, but not the bytes of all owners together.
runner::SentVolume gradient_volume(const GradientTravel& travel, std::int64_t floats,
                                   const OwnerGrid& grid, std::int64_t node, std::int64_t owner);

/// What all owners send in a step.
runner::NodeTraffic node_traffic(const GradientTravel& travel, std::int64_t floats,
                                 const OwnerGrid& grid);

}  // namespace parallel
