// The climate samples of a run: opened, staged, decoded, cached and made into batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/staging_config.h"
#include "workloads/deepcam/climate_batches.h"
#include "workloads/deepcam/data_config.h"
#include "workloads/parallel/sample_sets.h"

namespace deepcam {

/// Must outlive its batches.
class ClimateData final : public parallel::SampleSets {
 public:
  /// Touches no file. world, topology and clock must outlive this object.
  ClimateData(const DataConfig& config, const staging::StagingConfig& staging,
              const cache::CacheConfig& cache, std::int64_t global_batch_size, std::int64_t epochs,
              std::int64_t height, std::int64_t width, const runner::Communicator& world,
              const runner::Topology& topology, const base::Clock& clock, int threads,
              std::uint64_t seed);

  /// Both are collective. They list both sets, or only the validation set, and read the statistics,
  /// unless already done. Throw DataError when the numbers of samples are not those configured,
  /// AgreedError when something cannot be listed or read.
  void open() override;
  void open_validation() override;
  /// Statistics of the training set; available once a set is open.
  const dataset::ClimateStatistics& statistics() const;

  /// This rank's samples, pass after pass, from update `first_step` to the end of the run.
  std::unique_ptr<ClimateBatches> training_batches(const parallel::BatchSplit& split,
                                                   std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch_size`; unused slots of the last
  /// one are empty.
  std::unique_ptr<ClimateBatches> validation_batches(std::int64_t batch_size);

 private:
  void learn_statistics();
  void read(const dataset::Dataset& source, std::int64_t index, ClimateCache& cache,
            ClimateSlot& slot);

  const DataConfig config_;
  const runner::Communicator& world_;
  const int threads_;
  const dataset::ClimateShape shape_;
  ClimateCache train_cache_, validation_cache_;
  std::optional<dataset::ClimateStatistics> statistics_;
};

}  // namespace deepcam
