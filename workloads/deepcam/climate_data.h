// The climate samples of a run: opened, staged, and made into batches.
// Hides datasets, decoding and the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/staging_config.h"
#include "workloads/deepcam/climate_batches.h"
#include "workloads/deepcam/data_config.h"
#include "workloads/parallel/sample_sets.h"

namespace deepcam {

/// Batches must not outlive it.
class ClimateData {
 public:
  /// Touches no file. world, topology and clock outlive this.
  ClimateData(const DataConfig& config, const staging::StagingConfig& staging,
              std::int64_t global_batch_size, std::int64_t epochs, std::int64_t height,
              std::int64_t width, const runner::Communicator& world,
              const runner::Topology& topology, const base::Clock& clock, int threads,
              std::uint64_t seed);

  /// Collective, both. Lists both sets, or the validation set alone, and reads the statistics,
  /// unless done already. Throws DataError when counts are not those configured, AgreedError for
  /// what cannot be listed or read.
  void open();
  void open_validation();
  std::int64_t train_samples() const { return sets_.train_samples(); }
  std::int64_t validation_samples() const { return sets_.validation_samples(); }
  std::int64_t steps_per_epoch() const { return sets_.steps_per_epoch(); }
  /// Of the training set; once a set is open.
  const dataset::ClimateStatistics& statistics() const;

  /// Collective. Brings near what this node's ranks need.
  nlohmann::json stage(const parallel::BatchSplit& split);
  /// Collective. What stage() would copy to this node, by set; null when it would read in place.
  nlohmann::json staging_plan(const parallel::BatchSplit& split);
  /// Collective. Removes what stage() left, unless it shall be kept.
  void clean_up();

  /// This rank's samples, pass after pass, from update `first_step` to the end of the run.
  std::unique_ptr<ClimateBatches> training_batches(const parallel::BatchSplit& split,
                                                   std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch_size`; the last one is filled up
  /// with slots that hold no sample.
  std::unique_ptr<ClimateBatches> validation_batches(std::int64_t batch_size);
  /// [first, last) of the validation set that this rank evaluates.
  std::pair<std::int64_t, std::int64_t> validation_part() const { return sets_.validation_part(); }
  parallel::ReadCounts take_counts() { return sets_.take_counts(); }

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
  parallel::SampleSets sets_;
};

}  // namespace deepcam
