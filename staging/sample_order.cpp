// The dataset index for each slot of each training step, independent of the number of ranks.
#include "staging/sample_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/split_evenly.h"

namespace staging {
namespace {

/// A seed for each shard: shards of equal size must not be shuffled alike.
std::uint64_t shard_seed(std::uint64_t seed, std::int64_t shard) {
  return base::RandomStream(seed, base::Purpose::kShuffle, 0, static_cast<std::uint64_t>(shard))
      .next_u64();
}

}  // namespace

SampleOrder::SampleOrder(std::int64_t samples, std::int64_t global_batch, std::int64_t shards,
                         std::uint64_t seed)
    : samples_(samples), global_batch_(global_batch), shards_(shards), seed_(seed) {
  if (samples < 1 || global_batch < 1 || shards < 1 || shards > global_batch) {
    throw base::ConfigError(fmt::format(
        "sample order: expected at least one sample, and from 1 to global_batch shards; "
        "found {} samples, global_batch {}, {} shards",
        samples, global_batch, shards));
  }
  steps_per_epoch_ = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    const auto [first, last] = base::split_evenly(samples, shards, shard);
    const std::int64_t slots = first_slot(shard + 1) - first_slot(shard);
    if (last - first < slots) {
      throw base::ConfigError(fmt::format(
          "sample order: shard {} of {} has {} samples, fewer than its {} places in a batch of {}",
          shard, shards, last - first, slots, global_batch));
    }
    steps_per_epoch_ = std::min(steps_per_epoch_, (last - first) / slots);
  }
}

std::int64_t SampleOrder::steps_per_epoch() const { return steps_per_epoch_; }

std::int64_t SampleOrder::shard_of(std::int64_t slot) const {
  return slot * shards_ / global_batch_;
}

std::int64_t SampleOrder::first_slot(std::int64_t shard) const {
  return base::ceil_div(shard * global_batch_, shards_);
}

std::int64_t SampleOrder::index(std::int64_t epoch, std::int64_t step, std::int64_t slot) const {
  const std::int64_t shard = shard_of(slot);
  const auto [first, last] = base::split_evenly(samples_, shards_, shard);
  const std::int64_t begin = first_slot(shard), slots = first_slot(shard + 1) - begin;
  const base::Permutation permutation(static_cast<std::uint64_t>(last - first),
                                      shard_seed(seed_, shard), static_cast<std::uint64_t>(epoch));
  return first + static_cast<std::int64_t>(
                     permutation(static_cast<std::uint64_t>(step * slots + slot - begin)));
}

std::int64_t SampleOrder::shard_with(std::int64_t index) const {
  const std::int64_t each = samples_ / shards_, longer = samples_ % shards_;
  const std::int64_t in_longer = longer * (each + 1);
  return index < in_longer ? index / (each + 1) : longer + (index - in_longer) / each;
}

std::optional<SampleOrder::Draw> SampleOrder::draw_of(std::int64_t epoch,
                                                      std::int64_t index) const {
  if (index < 0 || index >= samples_) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("sample order: no sample {} among {}", index, samples_));
  }
  const std::int64_t shard = shard_with(index);
  const auto [first, last] = base::split_evenly(samples_, shards_, shard);
  const std::int64_t begin = first_slot(shard), slots = first_slot(shard + 1) - begin;
  const base::Permutation permutation(static_cast<std::uint64_t>(last - first),
                                      shard_seed(seed_, shard), static_cast<std::uint64_t>(epoch));
  const auto position =
      static_cast<std::int64_t>(permutation.position_of(static_cast<std::uint64_t>(index - first)));
  if (position >= steps_per_epoch_ * slots) return std::nullopt;
  return Draw{position / slots, begin + position % slots};
}

std::vector<std::pair<std::int64_t, std::int64_t>> SampleOrder::needed(std::int64_t first,
                                                                       std::int64_t last) const {
  if (first >= last) return {};
  return {{base::split_evenly(samples_, shards_, shard_of(first)).first,
           base::split_evenly(samples_, shards_, shard_of(last - 1)).second}};
}

}  // namespace staging
