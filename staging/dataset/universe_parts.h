// Shared by the readers of universes: boxes as runs of bytes, and the checks of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/universe_data.h"

namespace dataset {

inline constexpr auto kCountBytes = static_cast<std::int64_t>(sizeof(std::int16_t));

/// Number of counts of a whole sample. Throws ShapeError for an impossible shape: an extent below
/// 1, or more than 2^40 counts.
std::int64_t counts_of(const UniverseShape& shape);
UniverseRegion whole_of(const UniverseShape& shape);
/// Throws ShapeError unless `region` has at least one voxel and lies in `shape`.
void check_region(const UniverseRegion& region, const UniverseShape& shape);

/// Consecutive bytes of a sample's counts, which are int16 [D, H, W, channels].
struct Run {
  std::int64_t offset = 0, bytes = 0;
};
/// The region's bytes in ascending order, in as few runs as possible.
std::vector<Run> runs_of(const UniverseRegion& region, const UniverseShape& shape);

/// Sets the extents and channels of `out` to the region's and resizes its counts.
void prepare(const UniverseRegion& region, const UniverseShape& shape, Universe& out);

/// Throws DataError when a count is negative. `counts` are those of the region.
void check_counts(std::span<const std::int16_t> counts, const UniverseRegion& region,
                  const UniverseShape& shape, const std::string& name);
/// Throws DataError when a target is not finite or beyond [-1.5, 1.5].
void check_targets(std::span<const float> targets, const std::string& name);

}  // namespace dataset
