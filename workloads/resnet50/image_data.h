// The images of a run: opened, staged, and made into batches.
// Hides datasets, decoding and augmentation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/prefetch.h"
#include "staging/sample_order.h"
#include "staging/stage.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/resnet50/config.h"

namespace resnet50 {

/// What reading and staging have done on this rank since the last take_counts().
struct ReadCounts {
  std::int64_t bytes = 0, skipped = 0, staged = 0;
};

class ImageData {
 public:
  ImageData(const Config& config, const runner::Communicator& world,
            const runner::Topology& topology, const base::Clock& clock, int threads,
            std::uint64_t seed);

  /// Collective. Lists both sets, unless done already. Throws DataError when counts or classes are
  /// not those configured.
  void open();
  /// Collective. Lists the validation set, and the training set only where class ids depend on it.
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
  std::unique_ptr<staging::Prefetcher> training_batches(const parallel::BatchSplit& split,
                                                        std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch`; the last one is filled up with
  /// labels of -1.
  std::unique_ptr<staging::Prefetcher> validation_batches(std::int64_t batch);
  /// [first, last) of the validation set that `rank` evaluates.
  std::pair<std::int64_t, std::int64_t> validation_part(int rank) const;
  ReadCounts take_counts();

 private:
  using Source = std::shared_ptr<const dataset::Dataset>;
  /// Decodes sample `index` of `source` into `image`; false when it is corrupt and may be skipped.
  bool decode(const dataset::Dataset& source, std::int64_t index, dataset::Image& image);
  void check(const dataset::Dataset& source, const char* key, std::int64_t expected_samples) const;
  /// Ranges of the training set that this rank's slots draw from.
  staging::Ranges needed_for_training(const parallel::BatchSplit& split) const;
  Source open_listed(const std::string& path, bool is_validation) const;

  const Config config_;
  const runner::Communicator& world_;
  const runner::Topology& topology_;
  const base::Clock& clock_;
  int decode_threads_;
  std::uint64_t seed_;
  Preprocess preprocess_;
  Source train_, validation_;
  std::optional<staging::SampleOrder> order_;
  std::vector<std::string> staged_directories_;
  std::atomic<std::int64_t> bytes_read_{0}, skipped_{0};
  std::int64_t bytes_staged_ = 0;
};

}  // namespace resnet50
