// Batches of universes: read ahead, kept as narrow counts, and widened when loaded into the
// network's input.
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

/// Axis i of a training input is axis axes[i] of the sample, reversed if flips[i].
struct Orientation {
  std::array<int, 3> axes = {0, 1, 2};
  std::array<bool, 3> flips = {false, false, false};
  bool operator==(const Orientation&) const = default;
};
/// Draws one of the 8 mirrorings if `flips`, and one of the 6 orders of axes if `transposes`.
Orientation draw_orientation(base::RandomStream& random, bool flips, bool transposes);

/// The region of a cube of `extent` to read so that `seen` is its oriented result.
dataset::UniverseRegion source_region(const dataset::UniverseRegion& seen, std::int64_t extent,
                                      const Orientation& orientation);

/// Decoded counts, stored in one byte each if they fit, up to a number of bytes. Entries are never
/// evicted. Thread-safe.
class UniverseCache {
 public:
  explicit UniverseCache(std::int64_t bytes) : kept_(bytes) {}
  /// Copies the sample into `universe`; returns false if it is absent.
  bool find(std::int64_t index, dataset::Universe& universe) const;
  void keep(std::int64_t index, const dataset::Universe& universe);
  std::int64_t samples() const { return kept_.samples(); }

 private:
  struct Kept {
    std::vector<std::uint8_t> narrow;
    std::vector<std::int16_t> wide;  ///< used if a count is above 255
    dataset::Universe without_counts;
  };
  staging::SampleCache<Kept> kept_;
};

/// A slot of a batch.
struct UniverseSample {
  std::int64_t index = -1;     ///< in the dataset; -1: the slot is empty
  dataset::Universe universe;  ///< the part of the sample that this rank needs
  Orientation orientation;
};
using UniverseBatch = std::vector<UniverseSample>;

using UniverseBatches = staging::SlotBatches<UniverseSample>;

/// Converts a sample's counts to the network's input, T [extents + 2, channels]: log(count + 1) or
/// count / mean, and 0 in the margin.
template <class T>
void widen(const UniverseSample& sample, bool apply_log, std::span<T> input);

}  // namespace cosmoflow
