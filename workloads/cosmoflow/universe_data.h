// The universes of a run: opened, staged, decoded, cached and made into batches.
#pragma once

#include <cstdint>
#include <memory>

#include "runner/base/clock.h"
#include "runner/communicator.h"
#include "workloads/cosmoflow/config.h"
#include "workloads/cosmoflow/universe_batches.h"
#include "workloads/parallel/sample_sets.h"

namespace cosmoflow {

/// The part of the data that a rank reads: the ranks of a group have the same samples, and each
/// rank has one region of them.
struct DataShare {
  std::int64_t group = 0, groups = 1;
  dataset::UniverseRegion region;
};

class UniverseData final : public parallel::SampleSets {
 public:
  UniverseData(const Config& config, const runner::Communicator& world,
               const runner::Topology& topology, const base::Clock& clock, int threads,
               std::uint64_t seed, const DataShare& share);

  /// This rank's samples, pass after pass, from update `first_step` to the end of the run.
  std::unique_ptr<UniverseBatches> training_batches(const parallel::BatchSplit& split,
                                                    std::int64_t first_step);
  /// This rank's part of the validation set in batches of `batch`; unused slots of the last one are
  /// empty.
  std::unique_ptr<UniverseBatches> validation_batches(std::int64_t batch);

 private:
  void read(const dataset::Dataset& source, std::int64_t index, UniverseCache* cache,
            UniverseSample& sample);

  const DataConfig config_;
  const std::int64_t size_;  ///< voxels of a sample along each axis
  const int threads_;
  const std::uint64_t seed_;
  const DataShare share_;
  const dataset::UniverseShape shape_;
  UniverseCache train_cache_, validation_cache_;
};

}  // namespace cosmoflow
