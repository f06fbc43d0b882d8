// The area under the ROC curve of scores that lie on many ranks, exactly.
// Hides how equal scores come together and which rank counts which.
#pragma once

#include <cstdint>
#include <span>

#include "runner/communicator.h"

namespace parallel {

/// Of all samples of all ranks.
struct RocAuc {
  /// The share of pairs of a positive and a negative sample in which the positive has the higher
  /// score; equal scores count half. NaN, which meets no target, where it has no meaning: when a
  /// score is NaN (a diverged model), or without samples of either class.
  double area = 0.0;
  std::int64_t positives = 0, negatives = 0;  ///< samples with a number for a score
  std::int64_t not_numbers = 0;               ///< samples with NaN for a score
};

/// Collective. scores[i] and labels[i] (0, 1, or -1 for no sample) are those of this rank, which
/// may have none. Pairs are counted in integers: the result has the same bits on every rank, and
/// for every order and distribution of the samples. Scores may be logits or probabilities,
/// infinite or denormal; 0 and -0 are equal. Memory: roc_auc_bytes() for the samples of this rank
/// or of the mean rank, whichever has more; however many scores are equal. Throws DataError for
/// another label, ShapeError for spans of unequal length. Source: Hanley & McNeil, Radiology 143
/// (1982): the area is the Mann-Whitney statistic.
RocAuc roc_auc(std::span<const float> scores, std::span<const float> labels,
               const runner::Communicator& ranks);

/// Bytes at most beside the arguments: 24 for each sample, 2 KiB for each rank.
std::int64_t roc_auc_bytes(std::int64_t samples, int ranks);

}  // namespace parallel
