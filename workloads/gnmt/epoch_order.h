// Which sentences are trained together, and when.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/gnmt/sentence_pairs.h"

namespace gnmt {

/// Global batches of pairs of like length. Pairs are in five buckets, by the longer sentence; an
/// epoch shuffles each bucket, cuts it into global batches, leaves out the rest, and shuffles the
/// batches. The order is a function of seed and epoch, whatever the number of ranks.
/// Source: mlcommons/training, gnmt, seq2seq/data/sampler.py; its random numbers are others.
class EpochOrder {
 public:
  static constexpr std::size_t kBuckets = 5;

  /// `max_length`: that of read_pairs(). Throws ConfigError if no bucket has a global batch.
  EpochOrder(const SentencePairs& pairs, std::int64_t max_length, std::int64_t global_batch_size,
             std::uint64_t seed);

  /// Global batches of an epoch.
  std::int64_t batches() const { return batches_; }
  /// The indices of a batch's pairs; rank r of P takes the r-th of P equal parts. Throws
  /// Error(kInternal) if `batch` is not below batches().
  std::vector<std::int64_t> pairs_of(std::int64_t epoch, std::int64_t batch) const;
  /// The bucket of a pair whose sentences have these lengths.
  static std::size_t bucket_of(std::int64_t source_length, std::int64_t target_length,
                               std::int64_t max_length);

 private:
  std::int64_t batches_in(std::size_t bucket) const;

  std::array<std::vector<std::uint32_t>, kBuckets> buckets_;  ///< indices of their pairs
  std::int64_t global_batch_size_;
  std::uint64_t seed_;
  std::int64_t batches_ = 0;
};

}  // namespace gnmt
