// The universes of a run: opened, staged, and made into batches.
// Hides datasets, decoding and the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/universe_batches.h"
#include "workloads/parallel/sample_sets.h"

namespace cosmoflow {

/// Which of the samples' parts a rank has: ranks of a group have the same samples, and each a
/// region of them.
struct DataShare {
  std::int64_t group = 0, groups = 1;
  dataset::UniverseRegion region;
};

class UniverseData {
 public:
  UniverseData(const Config& config, const runner::Communicator& world,
               const runner::Topology& topology, const base::Clock& clock, int threads,
               std::uint64_t seed, const DataShare& share);

  /// Collective. Lists both sets, unless done already. Throws DataError when counts are not those
  /// configured.
  void open() { sets_.open(); }
  /// Collective. Lists the validation set alone.
  void open_validation() { sets_.open_validation(); }
  std::int64_t train_samples() const { return sets_.train_samples(); }
  std::int64_t validation_samples() const { return sets_.validation_samples(); }
  std::int64_t steps_per_epoch() const { return sets_.steps_per_epoch(); }

  /// Collective. Brings near what this node's ranks need.
  nlohmann::json stage(const parallel::BatchSplit& split);
  /// Collective. What stage() would copy to this node, by set; null when it would read in place.
  nlohmann::json staging_plan(const parallel::BatchSplit& split);
  /// Collective. Removes what stage() left, unless it shall be kept.
  void clean_up() { sets_.clean_up(); }

  /// This rank's samples, pass after pass, from update `first_step` to the end of the run.
  std::unique_ptr<UniverseBatches> training_batches(const parallel::BatchSplit& split,
                                                    std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch`; the last one is filled up with
  /// slots that hold no sample.
  std::unique_ptr<UniverseBatches> validation_batches(std::int64_t batch);
  /// [first, last) of the validation set that this rank's group evaluates.
  std::pair<std::int64_t, std::int64_t> validation_part() const { return sets_.validation_part(); }
  parallel::ReadCounts take_counts() { return sets_.take_counts(); }

 private:
  void read(const dataset::Dataset& source, std::int64_t index, UniverseCache* cache,
            UniverseSample& sample);

  const DataConfig config_;
  const std::int64_t size_;  ///< of a sample along each axis
  const int threads_;
  const std::uint64_t seed_;
  const DataShare share_;
  const dataset::UniverseShape shape_;
  UniverseCache train_cache_, validation_cache_;
  parallel::SampleSets sets_;
};

}  // namespace cosmoflow
