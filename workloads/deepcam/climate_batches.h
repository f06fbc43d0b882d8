// Batches of climate samples: read ahead, kept as decoded, and normalised when loaded into the
// network's input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "staging/dataset/climate.h"
#include "staging/dataset/climate_statistics.h"
#include "staging/sample_cache.h"
#include "staging/slot_batches.h"

namespace deepcam {

/// Decoded samples, up to a number of bytes. Entries are never evicted. Thread-safe.
using ClimateCache = staging::SampleCache<dataset::ClimateSample>;
/// Memory of a decoded sample in bytes.
std::int64_t bytes_of(const dataset::ClimateSample& sample);

/// A slot of a batch.
class ClimateSlot {
 public:
  std::int64_t index() const { return index_; }  ///< in the dataset; -1: the slot is empty
  const dataset::ClimateSample& sample() const { return *sample_; }  ///< only for non-empty slots

  using Read = std::function<void(dataset::ClimateSample& sample)>;
  /// Takes sample `index` from `cache`, or reads it and adds it to the cache if there is room.
  void fill(std::int64_t index, ClimateCache& cache, const Read& read);
  void fill_with_nothing() { index_ = -1; }

 private:
  std::int64_t index_ = -1;
  std::shared_ptr<const dataset::ClimateSample> sample_;
  std::shared_ptr<dataset::ClimateSample> own_;  ///< reused buffer, unless the cache took it
};
using ClimateBatch = std::vector<ClimateSlot>;

using ClimateBatches = staging::SlotBatches<ClimateSlot>;

/// Computes (x - minval) / (maxval - minval) of each value, T [H, W, channels]; T is float or
/// nn::Bf16, rounded to nearest. Uses all OpenMP threads. Throws ShapeError unless `sample` has
/// kClimateChannels channels and `input` has the sample's size.
template <class T>
void normalize_into(const dataset::ClimateSample& sample,
                    const dataset::ClimateStatistics& statistics, std::span<T> input);

}  // namespace deepcam
