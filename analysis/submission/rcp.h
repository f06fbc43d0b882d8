// The test against reference convergence points: does a submission converge faster than the
// reference can by chance? Hides which point applies and the words for each outcome.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/submission/rcp_collector.h"
#include "analysis/submission/reference_curve.h"

namespace analysis::submission {

enum class RcpOutcome {
  kFound,                    ///< a reference point at this batch size
  kInterpolated,             ///< between two reference points
  kSlowerOnSmallerBatch,     ///< below all points, yet not faster than the smallest
  kMissing,                  ///< above all points, or below all and faster than the smallest
  kNoReferencePoints,        ///< the round has none for this benchmark
  kInsufficientConvergence,  ///< more than one run failed
  kNoBatchSize,              ///< no log gives its global batch size
  kMixedRuns,                ///< batch sizes or benchmarks differ between the runs
  kTooFewRuns                ///< nothing left once fastest and slowest are dropped
};

struct RcpOptions {
  RcpEra era = RcpEra::kHead;
  RcpPoints points = RcpPoints::kPruned;
  bool bypass = false;  ///< rcp-bypass: a failed comparison or a missing point passes all the same
};

/// Means are in the set's unit. Absent where there was nothing to compare.
struct RcpResult {
  RcpOutcome outcome = RcpOutcome::kNoReferencePoints;
  bool passed = false;
  bool bypassed = false;  ///< passed only because options.bypass was set
  std::string benchmark;
  std::string_view era;  ///< whose statistics: RcpEraFacts::name
  std::string unit;
  std::optional<ReferenceSet> points;  ///< of the round, all of them
  std::optional<double> batch_size;
  /// Mean over the runs without fastest and slowest; a failed run is the slowest.
  std::optional<double> submission_mean;
  std::optional<ConvergencePoint> reference;  ///< what the submission was compared with
  std::vector<double> between;                ///< the two batch sizes it was interpolated from
  std::optional<double> p_value;              ///< MeanTest::p_value() of submission_mean
  double normalization = 1.0;  ///< the score's factor: reference mean / submission mean, at least 1
  std::string message;         ///< one sentence: outcome and figures
  std::vector<std::string> advice;  ///< what would be needed to pass, or is odd; a sentence each

  /// What a score is multiplied by: 1 unless the test was passed by itself.
  double score_factor() const { return passed && !bypassed ? normalization : 1.0; }
  /// Not passed, though there was something to compare with.
  bool fails() const { return !passed && outcome != RcpOutcome::kNoReferencePoints; }
};

/// Tests the runs of one benchmark folder. `set` is absent where the round has no points.
RcpResult test_convergence(std::span<const RcpRun> runs, const std::optional<ReferenceSet>& set,
                           const RcpOptions& options = {});

/// The result as a finding of rule rcp.passed (a warning if bypassed), rcp.failed (of `severity`)
/// or rcp.no-points (a note), with the advice.
mllog::Finding finding_of(const RcpResult& result,
                          mllog::Finding::Severity severity = mllog::Finding::Severity::kError);

/// "found", "interpolated", "slower convergence on a smaller batch size", "missing" ...
std::string_view to_string(RcpOutcome outcome);

}  // namespace analysis::submission
