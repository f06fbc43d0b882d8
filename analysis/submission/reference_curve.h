// How fast the reference converges at each batch size, and how fast a submission may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/facts_of_log.h"
#include "analysis/submission/reference_points.h"

namespace analysis::submission {

/// The edition of MLCommons' RCP checker that decides. Editions differ in four things: from which
/// runs the standard deviation comes, what pruning compares, whether scores are normalised, and
/// whether a bypass covers a missing point.
enum class RcpEra { kHead, k2024a, k2022, kFirstRounds };

struct RcpEraFacts {
  RcpEra era;
  std::string_view name;     ///< "head", "2024a", "2022", "1.0"
  std::string_view meaning;  ///< with the commits of mlcommons/logging between which it applied
};
std::span<const RcpEraFacts> rcp_eras();
/// Null for an unknown name.
const RcpEraFacts* find_rcp_era(std::string_view name);
const RcpEraFacts& facts_of(RcpEra era);

/// Compares two means with one standard deviation for both, by Student's t-test. Source:
/// training_policies, appendix on reference convergence points.
struct MeanTest {
  double mean = 0.0;                 ///< of the reference, in its unit
  double stdev = 0.0;                ///< population standard deviation of the reference's runs
  std::int64_t reference_runs = 0;   ///< that count for its mean
  std::int64_t submission_runs = 0;  ///< the required runs less two

  /// The one-sided p-value: the probability that a submission that converges like the reference has
  /// a mean of at most `submission_mean`. Without spread it is 0 below the mean, else 1.
  double p_value(double submission_mean) const;
  /// Half the width of the interval around `mean` that holds the means of nine in ten submissions
  /// that converge like the reference. Its lower end is the closed form of least_mean().
  double half_width() const;
  /// The least mean whose p-value exceeds 0.05; `mean` without spread. Found by bisection to 1e-4,
  /// as in the official checker, so that means next to it get the same verdict. Differs from max(0,
  /// mean - half_width()) by at most 1e-4, or the distance of adjacent doubles.
  double least_mean() const;
};

/// One batch size of a curve.
struct ConvergencePoint {
  double batch_size = 0.0;
  MeanTest test;
  double least_mean = 0.0;  ///< test.least_mean() less the set's leeway
  bool pruned = false;      ///< not used by default: other points converge faster
};

/// Which points of a curve a submission is compared with.
enum class RcpPoints { kPruned, kAll };

/// The statistics of a set of reference points.
class ReferenceCurve {
 public:
  ReferenceCurve(const ReferenceSet& set, RcpEra era);

  /// By rising batch size, including pruned points.
  const std::vector<ConvergencePoint>& points() const { return points_; }
  /// The points that `which` selects.
  std::vector<ConvergencePoint> points(RcpPoints which) const;
  /// The point interpolated between two others: mean and deviation are linear in the batch size.
  /// Its number of runs is that of a reference point, twice the required runs.
  ConvergencePoint between(const ConvergencePoint& low, const ConvergencePoint& high,
                           double batch_size) const;

 private:
  void prune(RcpEra era);

  std::int64_t runs_required_;
  double leeway_;
  std::vector<ConvergencePoint> points_;
};

}  // namespace analysis::submission
