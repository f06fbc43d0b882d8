// The test against reference convergence points (RCP test): does a submission converge faster than
// the reference does by chance?
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
  kSlowerOnSmallerBatch,     ///< below all points, but slow enough for the smallest
  kMissing,                  ///< above all points, or below all and too fast for the smallest
  kNoReferencePoints,        ///< the round has none for this benchmark
  kInsufficientConvergence,  ///< more runs failed than are dropped as slowest
  kNoBatchSize,              ///< no log gives its global batch size
  kMixedRuns,                ///< batch sizes or benchmarks differ between the runs
  kTooFewRuns                ///< none is left without the fastest and the slowest
};

struct RcpOptions {
  RcpEra era = RcpEra::kHead;
  RcpPoints points = RcpPoints::kPruned;
  bool bypass = false;  ///< rcp-bypass: a failed comparison or a missing point still passes
};

/// Means are in the unit of the reference points. Figures are absent if nothing was compared.
struct RcpResult {
  RcpOutcome outcome = RcpOutcome::kNoReferencePoints;
  bool passed = false;
  bool bypassed = false;  ///< passed only because options.bypass was set
  std::string benchmark;
  std::string_view era;  ///< RcpEraFacts::name of the statistics
  std::string unit;
  std::optional<ReferenceSet> points;  ///< all points of the round
  std::optional<double> batch_size;
  /// Mean over the runs without the fastest and the slowest; a failed run counts as a slowest.
  std::optional<double> submission_mean;
  std::optional<ConvergencePoint> reference;  ///< the point that the submission was compared with
  std::vector<double> between;                ///< the two batch sizes that it was interpolated from
  std::optional<double> p_value;              ///< MeanTest::p_value() of submission_mean
  double normalization = 1.0;  ///< the score's factor: reference mean / submission mean, at least 1
  std::string message;         ///< one sentence: outcome and figures
  std::vector<std::string> advice;  ///< what is needed to pass, or is unusual; a sentence each

  /// The factor of the score: 1 unless the test was passed without a bypass.
  double score_factor() const { return passed && !bypassed ? normalization : 1.0; }
  /// Whether the test was not passed for another reason than a lack of reference points.
  bool fails() const { return !passed && outcome != RcpOutcome::kNoReferencePoints; }
};

/// Tests the runs of one benchmark folder. `set` is absent if the round has no points.
RcpResult test_convergence(std::span<const RcpRun> runs, const std::optional<ReferenceSet>& set,
                           const RcpOptions& options = {});

/// The result as a finding of rule rcp.passed (a warning if bypassed), rcp.failed (of `severity`)
/// or rcp.no-points (a note), with the advice.
mllog::Finding finding_of(const RcpResult& result,
                          mllog::Finding::Severity severity = mllog::Finding::Severity::kError);

/// "found", "interpolated", "slower convergence on a smaller batch size", "missing" ...
std::string_view to_string(RcpOutcome outcome);

}  // namespace analysis::submission
