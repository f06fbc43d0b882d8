// The images of a run: opened, staged, decoded, kept, augmented and made into batches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "staging/dataset/listing.h"
#include "staging/prefetch.h"
#include "workloads/images/config.h"
#include "workloads/images/decoded_images.h"
#include "workloads/nn/sample_streams.h"
#include "workloads/parallel/sample_sets.h"

namespace images {

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
  /// What dropout draws for a batch of them depends on.
  nn::SampleStreams streams_of(const parallel::BatchSplit& split, std::int64_t batch) const;
  /// This rank's part of the validation set in batches of `batch`; empty slots of the last one have
  /// label -1.
  std::unique_ptr<staging::Prefetcher> validation_batches(std::int64_t batch);

 private:
  using SampleSet = parallel::SampleSet;
  struct Wanted {
    SampleSet set;
    std::int64_t index, next_use;
  };
  /// Brings the part that `choose` wants of an image into `image`: kept, or read from `source`.
  /// Returns false if it is corrupt and may be skipped.
  bool bring(const Wanted& wanted, const dataset::Dataset& source,
             const dataset::ChooseView& choose, dataset::Image& image);
  /// The same of an image that is not kept.
  bool decode(const Wanted& wanted, const dataset::Dataset& source,
              const dataset::ChooseView& choose, dataset::Image& image);
  DecodedImages& images_of(SampleSet set) {
    return set == SampleSet::kTrain ? train_images_ : validation_images_;
  }
  /// When this rank draws a sample again that it draws now.
  std::int64_t next_use(const cache::Schedule& schedule, const parallel::SamplePlace& place) const;
  void open_sets(Sources& sources, Need need) const;
  Source open_listed(const std::string& path, const dataset::OpenOptions& options) const;
  Source open_validation_set(const Source& train) const;

  const Config config_;
  const runner::Communicator& world_;
  int decode_threads_;
  std::uint64_t seed_;
  Preprocess preprocess_;
  DecodedImages train_images_, validation_images_;
};

}  // namespace images
