// Which sentences are trained together, and when.
#include "workloads/gnmt/epoch_order.h"

#include <fmt/core.h>

#include <algorithm>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/hash_chain.h"
#include "runner/base/narrow.h"
#include "runner/base/random.h"

namespace gnmt {

std::size_t EpochOrder::bucket_of(std::int64_t source_length, std::int64_t target_length,
                                  std::int64_t max_length) {
  const std::int64_t width = base::ceil_div(max_length, static_cast<std::int64_t>(kBuckets));
  return std::min(kBuckets - 1,
                  static_cast<std::size_t>(std::max(source_length, target_length) / width));
}

EpochOrder::EpochOrder(const SentencePairs& pairs, std::int64_t max_length,
                       std::int64_t global_batch_size, std::uint64_t seed)
    : global_batch_size_(global_batch_size), seed_(seed) {
  for (std::int64_t i = 0; i < pairs.source.size(); ++i) {
    buckets_[bucket_of(pairs.source.length(i), pairs.target.length(i), max_length)].push_back(
        base::narrow<std::uint32_t>(i));
  }
  for (std::size_t b = 0; b < kBuckets; ++b) batches_ += batches_in(b);
  if (batches_ > 0) return;
  std::size_t largest = 0;
  for (const auto& bucket : buckets_) largest = std::max(largest, bucket.size());
  throw base::ConfigError(
      fmt::format("global_batch_size: must be at most {}, the number of pairs in the largest of "
                  "the {} buckets of like length, got {}",
                  largest, kBuckets, global_batch_size));
}

std::int64_t EpochOrder::batches_in(std::size_t bucket) const {
  return static_cast<std::int64_t>(buckets_[bucket].size()) / global_batch_size_;
}

std::vector<std::int64_t> EpochOrder::pairs_of(std::int64_t epoch, std::int64_t batch) const {
  const auto shuffled = [&](std::int64_t count, std::uint64_t what) {
    return base::Permutation(
        static_cast<std::uint64_t>(count),
        base::chain({seed_, static_cast<std::uint64_t>(base::Purpose::kShuffle), what}),
        static_cast<std::uint64_t>(epoch));
  };
  // Batches are numbered through the buckets before they are shuffled.
  auto number =
      static_cast<std::int64_t>(shuffled(batches_, kBuckets)(static_cast<std::uint64_t>(batch)));
  std::size_t bucket = 0;
  for (; number >= batches_in(bucket); ++bucket) number -= batches_in(bucket);
  const std::vector<std::uint32_t>& members = buckets_[bucket];
  const base::Permutation order = shuffled(static_cast<std::int64_t>(members.size()), bucket);
  std::vector<std::int64_t> pairs;
  pairs.reserve(static_cast<std::size_t>(global_batch_size_));
  for (std::int64_t i = 0; i < global_batch_size_; ++i) {
    pairs.push_back(members[order(static_cast<std::uint64_t>(number * global_batch_size_ + i))]);
  }
  return pairs;
}

}  // namespace gnmt
