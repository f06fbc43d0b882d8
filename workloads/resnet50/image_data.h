// The images of a run: opened, staged, decoded, augmented and made into batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/dataset/listing.h"
#include "staging/prefetch.h"
#include "workloads/parallel/sample_sets.h"
#include "workloads/resnet50/config.h"

namespace resnet50 {

/// Opening throws DataError for other numbers of samples or more classes than configured. Opening
/// only the validation set also opens the training set if class ids depend on it.
class ImageData final : public parallel::SampleSets {
 public:
  ImageData(const Config& config, const runner::Communicator& world,
            const runner::Topology& topology, const base::Clock& clock, int threads,
            std::uint64_t seed);

  /// This rank's samples, pass after pass, from update `first_step` to the end of the run.
  std::unique_ptr<staging::Prefetcher> training_batches(const parallel::BatchSplit& split,
                                                        std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch`; empty slots of the last one have
  /// label -1.
  std::unique_ptr<staging::Prefetcher> validation_batches(std::int64_t batch);

 private:
  using SampleSet = parallel::SampleSet;
  /// Decodes the part that `choose` wants of sample `index` of `set`, read from `source`, into
  /// `image`. Returns false if it is corrupt and may be skipped.
  bool decode(SampleSet set, const dataset::Dataset& source, std::int64_t index,
              const dataset::ChooseView& choose, dataset::Image& image);
  void open_sets(Sources& sources, Need need) const;
  Source open_listed(const std::string& path, const dataset::OpenOptions& options) const;
  Source open_validation_set(const Source& train) const;

  const Config config_;
  const runner::Communicator& world_;
  int decode_threads_;
  std::uint64_t seed_;
  Preprocess preprocess_;
};

}  // namespace resnet50
