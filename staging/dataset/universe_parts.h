// What the readers of universes share: boxes as runs of bytes, and the checks of values.
// Hides the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/universe_data.h"

namespace dataset {

inline constexpr auto kCountBytes = static_cast<std::int64_t>(sizeof(std::int16_t));

/// Counts of a whole sample. Throws ShapeError for a shape that no sample has: an extent below 1,
/// more than 2^40 counts.
std::int64_t counts_of(const UniverseShape& shape);
UniverseRegion whole_of(const UniverseShape& shape);
/// Throws ShapeError unless `region` has at least one voxel and lies in `shape`.
void check_region(const UniverseRegion& region, const UniverseShape& shape);

/// Bytes that lie together in a sample's counts, [D, H, W, channels] of int16.
struct Run {
  std::int64_t offset = 0, bytes = 0;
};
/// The region's bytes in ascending order, in as few runs as there can be.
std::vector<Run> runs_of(const UniverseRegion& region, const UniverseShape& shape);

/// Shapes `out` for the region, whose counts may then be filled in.
void prepare(const UniverseRegion& region, const UniverseShape& shape, Universe& out);

/// Throws DataError when a count is negative; `counts` are those of the region.
void check_counts(std::span<const std::int16_t> counts, const UniverseRegion& region,
                  const UniverseShape& shape, const std::string& name);
/// Throws DataError when one is not finite or too far from the range of -1 to 1.
void check_targets(std::span<const float> targets, const std::string& name);

}  // namespace dataset
