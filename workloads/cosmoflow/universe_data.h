// The universes of a run: opened, staged, and made into batches.
// Hides datasets, decoding and the cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/sample_order.h"
#include "staging/stage.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/universe_batches.h"
#include "workloads/parallel/data_parallel.h"

namespace cosmoflow {

/// What reading and staging have done on this rank since the last take_counts().
struct ReadCounts {
  std::int64_t bytes = 0, staged = 0;
};

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
  void open();
  /// Collective. Lists the validation set alone.
  void open_validation();
  std::int64_t train_samples() const;
  std::int64_t validation_samples() const;
  std::int64_t steps_per_epoch() const;

  /// Collective. Brings near what this node's ranks need.
  nlohmann::json stage(const parallel::BatchSplit& split);
  /// Collective. What stage() would copy to this node, by set; null when it would read in place.
  nlohmann::json staging_plan(const parallel::BatchSplit& split);
  /// Collective. Removes what stage() left, unless it shall be kept.
  void clean_up();

  /// This rank's samples, pass after pass, from update `first_step` to the end of the run.
  std::unique_ptr<UniverseBatches> training_batches(const parallel::BatchSplit& split,
                                                    std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch`; the last one is filled up with
  /// slots that hold no sample.
  std::unique_ptr<UniverseBatches> validation_batches(std::int64_t batch);
  /// [first, last) of the validation set that this rank's group evaluates.
  std::pair<std::int64_t, std::int64_t> validation_part() const;
  ReadCounts take_counts();

 private:
  using Source = std::shared_ptr<const dataset::Dataset>;
  void check(const dataset::Dataset& source, const char* key, std::int64_t expected) const;
  void read(const Source& source, std::int64_t index, UniverseCache* cache, UniverseSample& sample);
  staging::Ranges needed_for_training(const parallel::BatchSplit& split) const;

  const Config config_;
  const runner::Communicator& world_;
  const runner::Topology& topology_;
  const base::Clock& clock_;
  const int threads_;
  const std::uint64_t seed_;
  const DataShare share_;
  const dataset::UniverseShape shape_;
  UniverseCache train_cache_, validation_cache_;
  Source train_, validation_;
  std::optional<staging::SampleOrder> order_;
  std::vector<std::string> staged_directories_;
  std::atomic<std::int64_t> bytes_read_{0};
  std::int64_t bytes_staged_ = 0;
};

}  // namespace cosmoflow
