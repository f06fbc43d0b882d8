// Batches of universes.
#include "workloads/cosmoflow/universe_batches.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "workloads/nn/layers/input_value.h"

namespace cosmoflow {
namespace {

using dataset::Universe;

/// log(count + 1) for all possible counts.
template <class T>
const std::vector<T>& logarithms() {
  static const std::vector<T> table = [] {
    std::vector<T> values(std::size_t{std::numeric_limits<std::int16_t>::max()} + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = nn::input_value<T>(std::log(static_cast<float>(i) + 1.0F));
    }
    return values;
  }();
  return table;
}

float mean_of(const std::vector<std::int16_t>& counts) {
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  return counts.empty() || sum == 0.0
             ? 1.0F
             : static_cast<float>(sum / static_cast<double>(counts.size()));
}

/// count / mean for all counts up to the sample's largest.
template <class T>
std::vector<T> shares_of_mean(const Universe& universe) {
  const auto largest = std::max_element(universe.counts.begin(), universe.counts.end());
  const std::size_t size =
      largest == universe.counts.end() ? 1 : static_cast<std::size_t>(*largest) + 1;
  const float mean = mean_of(universe.counts);
  std::vector<T> table(size);
  for (std::size_t i = 0; i < size; ++i) {
    table[i] = nn::input_value<T>(static_cast<float>(i) / mean);
  }
  return table;
}

}  // namespace

Orientation draw_orientation(base::RandomStream& random, bool flips, bool transposes) {
  Orientation orientation;
  for (std::size_t axis = 0; flips && axis < 3; ++axis) {
    orientation.flips[axis] = random.below(2) == 1;
  }
  for (std::size_t left = 3; transposes && left > 1; --left) {
    std::swap(orientation.axes[left - 1], orientation.axes[random.below(left)]);
  }
  return orientation;
}

dataset::UniverseRegion source_region(const dataset::UniverseRegion& seen, std::int64_t extent,
                                      const Orientation& orientation) {
  dataset::UniverseRegion source;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto from = static_cast<std::size_t>(orientation.axes[axis]);
    source.count[from] = seen.count[axis];
    source.first[from] =
        orientation.flips[axis] ? extent - seen.first[axis] - seen.count[axis] : seen.first[axis];
  }
  return source;
}

bool UniverseCache::find(std::int64_t index, Universe& universe) const {
  const std::shared_ptr<const Kept> kept = kept_.find(index);
  if (!kept) return false;
  std::vector<std::int16_t> counts = std::move(universe.counts);
  universe = kept->without_counts;
  if (kept->wide.empty()) {
    counts.assign(kept->narrow.begin(), kept->narrow.end());
  } else {
    counts = kept->wide;
  }
  universe.counts = std::move(counts);
  return true;
}

void UniverseCache::keep(std::int64_t index, const Universe& universe) {
  constexpr std::int16_t kLargest = std::numeric_limits<std::uint8_t>::max();
  const auto& counts = universe.counts;
  const bool is_narrow = std::all_of(counts.begin(), counts.end(),
                                     [](std::int16_t count) { return count <= kLargest; });
  const auto bytes = static_cast<std::int64_t>(counts.size() * (is_narrow ? 1 : 2));
  if (!kept_.reserve(index, bytes)) return;
  auto kept = std::make_shared<Kept>();
  if (is_narrow) {
    kept->narrow.reserve(counts.size());
    for (const std::int16_t count : counts) {
      kept->narrow.push_back(static_cast<std::uint8_t>(count));
    }
  } else {
    kept->wide = counts;
  }
  kept->without_counts.extents = universe.extents;
  kept->without_counts.channels = universe.channels;
  kept->without_counts.targets = universe.targets;
  kept_.keep(index, std::move(kept));
}

template <class T>
void widen(const UniverseSample& sample, bool apply_log, std::span<T> input) {
  const Universe& universe = sample.universe;
  const std::vector<T> shares = apply_log ? std::vector<T>() : shares_of_mean<T>(universe);
  const std::vector<T>& table = apply_log ? logarithms<T>() : shares;
  const std::int64_t channels = universe.channels;
  const std::array<std::int64_t, 3> steps = {universe.extents[1] * universe.extents[2] * channels,
                                             universe.extents[2] * channels, channels};
  std::array<std::int64_t, 3> extents{}, strides{};
  std::int64_t corner = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto from = static_cast<std::size_t>(sample.orientation.axes[axis]);
    extents[axis] = universe.extents[from];
    strides[axis] = sample.orientation.flips[axis] ? -steps[from] : steps[from];
    if (sample.orientation.flips[axis]) corner += (extents[axis] - 1) * steps[from];
  }
  const std::int64_t row = (extents[2] + 2) * channels, rows = extents[1] + 2;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < extents[0] + 2; ++plane) {
    for (std::int64_t line = 0; line < rows; ++line) {
      T* to = input.data() + (plane * rows + line) * row;
      const bool is_inside = plane > 0 && plane <= extents[0] && line > 0 && line <= extents[1];
      if (!is_inside) {
        std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(row) * sizeof(T));
        continue;
      }
      std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(channels) * sizeof(T));
      to += channels;
      const std::int16_t* from =
          universe.counts.data() + corner + (plane - 1) * strides[0] + (line - 1) * strides[1];
      for (std::int64_t point = 0; point < extents[2]; ++point, from += strides[2]) {
        for (std::int64_t channel = 0; channel < channels; ++channel) {
          *to++ = table[static_cast<std::size_t>(from[channel])];
        }
      }
      std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(channels) * sizeof(T));
    }
  }
}

template void widen<float>(const UniverseSample& sample, bool apply_log, std::span<float> input);
template void widen<nn::Bf16>(const UniverseSample& sample, bool apply_log,
                              std::span<nn::Bf16> input);

}  // namespace cosmoflow
