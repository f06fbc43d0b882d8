// The images of a run: opened, staged, and made into batches.
// Hides datasets, decoding and augmentation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/dataset/listing.h"
#include "staging/prefetch.h"
#include "workloads/parallel/sample_sets.h"
#include "workloads/resnet50/config.h"

namespace resnet50 {

/// What reading and staging have done on this rank since the last take_counts().
struct ReadCounts : parallel::ReadCounts {
  std::int64_t skipped = 0;
};

class ImageData {
 public:
  ImageData(const Config& config, const runner::Communicator& world,
            const runner::Topology& topology, const base::Clock& clock, int threads,
            std::uint64_t seed);

  /// Collective. Lists both sets, unless done already. Throws DataError when counts or classes are
  /// not those configured.
  void open() { sets_.open(); }
  /// Collective. Lists the validation set, and the training set only where class ids depend on it.
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
  std::unique_ptr<staging::Prefetcher> training_batches(const parallel::BatchSplit& split,
                                                        std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch`; the last one is filled up with
  /// labels of -1.
  std::unique_ptr<staging::Prefetcher> validation_batches(std::int64_t batch);
  /// [first, last) of the validation set that this rank evaluates.
  std::pair<std::int64_t, std::int64_t> validation_part() const { return sets_.validation_part(); }
  ReadCounts take_counts();

 private:
  using Sets = parallel::SampleSets;
  /// Decodes sample `index` of `source` into `image`; false when it is corrupt and may be skipped.
  bool decode(const dataset::Dataset& source, std::int64_t index, dataset::Image& image);
  void open_sets(Sets::Sources& sources, Sets::Need need) const;
  Sets::Source open_listed(const std::string& path, const dataset::OpenOptions& options) const;
  Sets::Source open_validation_set(const Sets::Source& train) const;

  const Config config_;
  const runner::Communicator& world_;
  int decode_threads_;
  std::uint64_t seed_;
  Preprocess preprocess_;
  std::atomic<std::int64_t> skipped_{0};
  Sets sets_;
};

}  // namespace resnet50
