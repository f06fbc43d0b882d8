// The exact area under the ROC curve of scores that are distributed over ranks.
// Hides the distributed sort.
#pragma once

#include <cstdint>
#include <span>

#include "runner/communicator.h"

namespace parallel {

/// The result over all samples of all ranks.
struct RocAuc {
  /// The fraction of pairs of a positive and a negative sample in which the positive has the higher
  /// score; equal scores count half. NaN, which reaches no target, if a score is NaN (a diverged
  /// model) or one class has no samples.
  double area = 0.0;
  std::int64_t positives = 0, negatives = 0;  ///< samples whose score is not NaN
  std::int64_t nan_scores = 0;                ///< samples whose score is NaN
};

/// Collective. scores[i] and labels[i] (0, 1, or -1 for no sample) are this rank's, which may have
/// none. Pairs are counted in integers: the result has the same bits on every rank, for any order
/// and distribution of the samples. Scores may be logits or probabilities, infinite or denormal;
/// 0 and -0 are equal. Memory: roc_auc_bytes() of this rank's number of samples or of the mean over
/// ranks, whichever is larger; ties do not change it. Throws DataError for any other label,
/// ShapeError if the spans differ in length. Source: Hanley & McNeil, Radiology 143 (1982): the
/// area is the Mann-Whitney statistic.
RocAuc roc_auc(std::span<const float> scores, std::span<const float> labels,
               const runner::Communicator& ranks);

/// Upper bound of roc_auc()'s memory besides its arguments: 24 bytes for each sample, 2 KiB for
/// each rank.
std::int64_t roc_auc_bytes(std::int64_t samples, int ranks);

}  // namespace parallel
