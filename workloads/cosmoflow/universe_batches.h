// Universes as batches: read ahead, kept as narrow as they are, and widened into the network's
// input at last. Hides threads, the cache, and how axes are mirrored and swapped.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/universe.h"
#include "staging/sample_cache.h"
#include "staging/slot_batches.h"
#include "workloads/kernels/kernels.h"

namespace cosmoflow {

/// Axis i of what training sees is axis axes[i] of the sample, backwards where flips[i].
struct Orientation {
  std::array<int, 3> axes = {0, 1, 2};
  std::array<bool, 3> flips = {false, false, false};
  bool operator==(const Orientation&) const = default;
};
/// One of the 8 mirrorings and one of the 6 orders of axes, each if asked for.
Orientation draw_orientation(base::RandomStream& random, bool flips, bool transposes);

/// What is read of a sample so that `seen` is seen of a cube of `extent`.
dataset::UniverseRegion source_region(const dataset::UniverseRegion& seen, std::int64_t extent,
                                      const Orientation& orientation);

/// Decoded counts in one byte each where they allow it, up to a number of bytes. What is in stays.
/// Threads may ask at once.
class UniverseCache {
 public:
  explicit UniverseCache(std::int64_t bytes) : kept_(bytes) {}
  /// False when it is not there.
  bool find(std::int64_t index, dataset::Universe& universe) const;
  void keep(std::int64_t index, const dataset::Universe& universe);
  std::int64_t samples() const { return kept_.samples(); }

 private:
  struct Kept {
    std::vector<std::uint8_t> narrow;
    std::vector<std::int16_t> wide;  ///< where a count is above 255
    dataset::Universe without_counts;
  };
  staging::SampleCache<Kept> kept_;
};

/// A sample as it is in a batch.
struct UniverseSample {
  std::int64_t index = -1;     ///< in the dataset; -1: the slot holds no sample
  dataset::Universe universe;  ///< what of it this rank needs
  Orientation orientation;
};
using UniverseBatch = std::vector<UniverseSample>;

using UniverseBatches = staging::SlotBatches<UniverseSample>;

/// From counts to the network's input of one sample, T [extents + 2, channels] with the margin: 0
/// there, inside log(count + 1) or count / mean.
template <class T>
void widen(const UniverseSample& sample, bool apply_log, std::span<T> input);

}  // namespace cosmoflow
