// Shared by the readers of universes: boxes as runs of bytes, and the checks of values.
#include "staging/dataset/universe_parts.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runner/base/error.h"

namespace dataset {

std::int64_t counts_of(const UniverseShape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t counts = 1;
  for (const std::int64_t extent :
       {shape.extents[0], shape.extents[1], shape.extents[2], shape.channels}) {
    if (extent < 1 || extent > kMost / counts) {
      throw base::ShapeError(
          fmt::format("universe: expected extents of at least 1 and no more than {} counts, got "
                      "[{}] with {} channels",
                      kMost, fmt::join(shape.extents, ", "), shape.channels));
    }
    counts *= extent;
  }
  return counts;
}

UniverseRegion whole_of(const UniverseShape& shape) { return {{0, 0, 0}, shape.extents}; }

void check_region(const UniverseRegion& region, const UniverseShape& shape) {
  counts_of(shape);
  for (std::size_t axis = 0; axis < shape.extents.size(); ++axis) {
    const std::int64_t first = region.first[axis], count = region.count[axis];
    if (first < 0 || count < 1 || count > shape.extents[axis] ||
        first > shape.extents[axis] - count) {
      throw base::ShapeError(
          fmt::format("universe: axis {}: expected planes from 0 to {}, got {} planes from {} on",
                      axis, shape.extents[axis] - 1, count, first));
    }
  }
}

std::vector<Run> runs_of(const UniverseRegion& region, const UniverseShape& shape) {
  const std::int64_t voxel = shape.channels * kCountBytes, row = shape.extents[2] * voxel;
  std::vector<Run> runs;
  for (std::int64_t d = 0; d < region.count[0]; ++d) {
    for (std::int64_t h = 0; h < region.count[1]; ++h) {
      const std::int64_t rows = (region.first[0] + d) * shape.extents[1] + region.first[1] + h;
      const std::int64_t begin = rows * row + region.first[2] * voxel;
      if (runs.empty() || runs.back().offset + runs.back().bytes != begin) {
        runs.push_back({begin, 0});
      }
      runs.back().bytes += region.count[2] * voxel;
    }
  }
  return runs;
}

void prepare(const UniverseRegion& region, const UniverseShape& shape, Universe& out) {
  out.extents = region.count;
  out.channels = shape.channels;
  out.counts.resize(static_cast<std::size_t>(counts_of({region.count, shape.channels})));
}

void check_counts(std::span<const std::int16_t> counts, const UniverseRegion& region,
                  const UniverseShape& shape, const std::string& name) {
  std::int16_t all = 0;
  for (const std::int16_t count : counts) all = static_cast<std::int16_t>(all | count);
  if (all >= 0) return;
  const auto found = std::find_if(counts.begin(), counts.end(), [](auto c) { return c < 0; });
  const std::int64_t at = found - counts.begin(), voxel = at / shape.channels;
  const auto& [depth, height, width] = region.count;
  throw base::DataError(fmt::format(
      "{}: expected counts of at least 0, found {} at [{}, {}, {}, {}]", name, *found,
      region.first[0] + voxel / width / height, region.first[1] + voxel / width % height,
      region.first[2] + voxel % width, at % shape.channels));
}

void check_targets(std::span<const float> targets, const std::string& name) {
  constexpr float kFarthest = 1.5F;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (std::isfinite(targets[i]) && std::abs(targets[i]) <= kFarthest) continue;
    throw base::DataError(fmt::format("{}: target {}: expected a number from {} to {}, found {}",
                                      name, i, -kFarthest, kFarthest, targets[i]));
  }
}

}  // namespace dataset
