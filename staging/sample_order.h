// The dataset index for each slot of each training step, independent of the number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace staging {

/// The order of a training run: a fresh pseudo-random permutation per epoch, in constant memory.
/// `shards` > 1 draws slot p of each global batch from contiguous shard floor(p * shards /
/// global_batch) of the dataset, so that a node needs only the shards of its slots; the result
/// never depends on ranks or nodes. The remainder of an epoch is dropped.
class SampleOrder {
 public:
  /// Throws ConfigError when the smallest shard cannot fill its slots of one batch.
  SampleOrder(std::int64_t samples, std::int64_t global_batch, std::int64_t shards,
              std::uint64_t seed);
  std::int64_t steps_per_epoch() const;
  /// Dataset index of `slot` (0..global_batch-1) in `step` (0..) of `epoch` (0..).
  std::int64_t index(std::int64_t epoch, std::int64_t step, std::int64_t slot) const;
  struct Draw {
    std::int64_t step = 0, slot = 0;
    bool operator==(const Draw&) const = default;
  };
  /// The inverse of index(): where in `epoch` the sample `index` is drawn; nullopt if it is among
  /// the remainder that is dropped. Throws Error(kInternal) if there is no such sample.
  std::optional<Draw> draw_of(std::int64_t epoch, std::int64_t index) const;
  /// Half-open ranges of dataset indices that contain every sample that slots [first, last) can
  /// draw.
  std::vector<std::pair<std::int64_t, std::int64_t>> needed(std::int64_t first,
                                                            std::int64_t last) const;

 private:
  std::int64_t shard_of(std::int64_t slot) const;
  std::int64_t first_slot(std::int64_t shard) const;
  std::int64_t shard_with(std::int64_t index) const;
  std::int64_t samples_, global_batch_, shards_;
  std::uint64_t seed_;
  std::int64_t steps_per_epoch_ = 0;
};

}  // namespace staging
