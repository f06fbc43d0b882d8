// Climate samples as batches: read ahead, kept as they were decoded, and normalised into the
// network's input at last. Hides threads and whose memory a sample is in.
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

/// Decoded samples up to a number of bytes. What is in stays. Threads may ask at once.
using ClimateCache = staging::SampleCache<dataset::ClimateSample>;
/// Memory that a decoded sample takes.
std::int64_t bytes_of(const dataset::ClimateSample& sample);

/// A sample as it is in a batch.
class ClimateSlot {
 public:
  std::int64_t index() const { return index_; }  ///< in the dataset; -1: the slot holds no sample
  const dataset::ClimateSample& sample() const { return *sample_; }  ///< if there is one

  using Read = std::function<void(dataset::ClimateSample& sample)>;
  /// Takes sample `index` from `cache`, or has it read and leaves it there if there is room.
  void fill(std::int64_t index, ClimateCache& cache, const Read& read);
  void fill_with_nothing() { index_ = -1; }

 private:
  std::int64_t index_ = -1;
  std::shared_ptr<const dataset::ClimateSample> sample_;
  std::shared_ptr<dataset::ClimateSample> own_;  ///< read into again, unless the cache has it
};
using ClimateBatch = std::vector<ClimateSlot>;

using ClimateBatches = staging::SlotBatches<ClimateSlot>;

/// (x - minval) / (maxval - minval) of each value, T [H, W, channels]; T is float or nn::Bf16, to
/// the nearest. On all OpenMP threads. Throws ShapeError unless `input` is as large as the sample,
/// which has kClimateChannels channels.
template <class T>
void normalize_into(const dataset::ClimateSample& sample,
                    const dataset::ClimateStatistics& statistics, std::span<T> input);

}  // namespace deepcam
