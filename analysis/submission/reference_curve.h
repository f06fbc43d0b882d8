// How fast the reference converges at each batch size, and how fast a submission may.
// Hides the t-test, interpolation and pruning.
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

/// Which edition of MLCommons' RCP checker decides. They differ in three things: from which runs
/// the standard deviation comes, what pruning compares, and whether scores are normalised.
enum class RcpEra { kHead, k2024a, k2022, kFirstRounds };

struct RcpEraFacts {
  RcpEra era;
  std::string_view name;     ///< "head", "2024a", "2022", "1.0"
  std::string_view meaning;  ///< with the commits of mlcommons/logging between which it held
};
std::span<const RcpEraFacts> rcp_eras();
/// Null for a name that is none.
const RcpEraFacts* find_rcp_era(std::string_view name);
const RcpEraFacts& facts_of(RcpEra era);

/// Of a comparison of two means with one standard deviation for both. Source: training_policies,
/// appendix on reference convergence points.
struct MeanTest {
  double mean = 0.0;                 ///< of the reference, in its unit
  double stdev = 0.0;                ///< population standard deviation of the reference's runs
  std::int64_t reference_runs = 0;   ///< that count
  std::int64_t submission_runs = 0;  ///< that count: required runs less two

  /// How often a submission that converges as the reference has a mean of `submission_mean` or
  /// less: the one-sided p-value of Student's t-test. Without spread 0 below the mean, else 1.
  double p_value(double submission_mean) const;
  /// Half the width of the interval around `mean` that holds the means of nine in ten submissions
  /// that converge as the reference; its lower end is the closed form of least_mean().
  double half_width() const;
  /// The least mean whose p-value exceeds 0.05, found as the official checker does, by bisection
  /// to 1e-4: only so do means next to it get the same verdict. Never above mean - half_width()
  /// by more than that; `mean` where there is no spread.
  double least_mean() const;
};

/// One batch size of a curve.
struct ConvergencePoint {
  double batch_size = 0.0;
  MeanTest test;
  double least_mean = 0.0;  ///< test.least_mean() less the set's leeway
  bool pruned = false;      ///< slower than a line between others, so no reference by default
};

/// Which points of a curve a submission is compared with.
enum class RcpPoints { kPruned, kAll };

/// The statistics of a set of reference points.
class ReferenceCurve {
 public:
  ReferenceCurve(const ReferenceSet& set, RcpEra era);

  /// By rising batch size, pruned ones too.
  const std::vector<ConvergencePoint>& points() const { return points_; }
  /// Those that count.
  std::vector<ConvergencePoint> points(RcpPoints which) const;
  /// A point between two others: mean and deviation linear in the batch size; counts as many runs
  /// as a reference point needs, twice the required.
  ConvergencePoint between(const ConvergencePoint& low, const ConvergencePoint& high,
                           double batch_size) const;

 private:
  void prune(RcpEra era);

  std::int64_t runs_required_;
  double leeway_;
  std::vector<ConvergencePoint> points_;
};

}  // namespace analysis::submission
