// The test against reference convergence points (RCP test).
#include "analysis/submission/rcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/facts_of_log.h"
#include "analysis/numbers.h"
#include "analysis/statistics.h"
#include "analysis/submission/package_rules.h"

namespace analysis::submission {
namespace {

/// Text of the difference to a least mean, which is known to 1e-4 only.
std::string difference_text(double value) { return fmt::format("{:.5g}", value); }

/// Makes one test, and its messages.
class Test {
 public:
  Test(std::span<const RcpRun> runs, const ReferenceSet* set, const RcpOptions& options)
      : runs_(runs), set_(set), options_(options) {}
  RcpResult result() &&;

 private:
  bool agree();
  bool has_numbers();
  void find_reference();
  void compare(const ConvergencePoint& reference);
  void compare_with_smallest(const ConvergencePoint& smallest);
  void bypass();
  void advise();
  void advise_faster();
  void advise_pruned();
  void end(RcpOutcome outcome, const std::string& message) {
    result_.outcome = outcome;
    result_.message = message;
  }
  std::string unplaced_text() const;
  std::string figures() const;
  std::string verdict_text() const;

  std::span<const RcpRun> runs_;
  const ReferenceSet* set_;
  RcpOptions options_;
  std::optional<ReferenceCurve> curve_;
  RcpResult result_;
};

RcpResult Test::result() && {
  result_.era = facts_of(options_.era).name;
  if (set_ != nullptr && !set_->points.empty()) result_.points = *set_;
  if (!agree()) return std::move(result_);
  if (set_ == nullptr || set_->points.empty()) {
    end(RcpOutcome::kNoReferencePoints,
        fmt::format("no reference convergence points for {}", result_.benchmark));
    return std::move(result_);
  }
  result_.unit = set_->unit;
  curve_.emplace(*set_, options_.era);
  if (!has_numbers()) return std::move(result_);
  find_reference();
  advise();
  bypass();
  return std::move(result_);
}

/// Whether the runs are of one benchmark and one batch size.
bool Test::agree() {
  if (runs_.empty()) {
    end(RcpOutcome::kTooFewRuns, "no runs");
    return false;
  }
  std::string first;  // the first log with a batch size
  for (const RcpRun& run : runs_) {
    if (result_.benchmark.empty()) result_.benchmark = run.benchmark;
    if (run.benchmark != result_.benchmark) {
      end(RcpOutcome::kMixedRuns, fmt::format("runs of different benchmarks: '{}' and '{}' in {}",
                                              result_.benchmark, run.benchmark, run.name));
      return false;
    }
    // As in the official checker, a log must have a batch size only after one that has it.
    if (!result_.batch_size) {
      result_.batch_size = run.batch_size;
      first = run.name;
    }
    if (run.batch_size != result_.batch_size) {
      const std::string other = run.batch_size ? digits_text(*run.batch_size) : "none";
      end(RcpOutcome::kMixedRuns,
          fmt::format("runs of different batch sizes: {} in {}, {} in {}",
                      digits_text(*result_.batch_size), first, other, run.name));
      return false;
    }
  }
  if (result_.benchmark.empty() && set_ != nullptr) result_.benchmark = set_->benchmark;
  return true;
}

/// Whether the runs have a batch size and a mean.
bool Test::has_numbers() {
  if (!result_.batch_size) {
    end(RcpOutcome::kNoBatchSize, "no log gives its global_batch_size");
    return false;
  }
  std::vector<double> converged;
  for (const RcpRun& run : runs_) {
    converged.push_back(run.converged_after.value_or(std::numeric_limits<double>::infinity()));
  }
  const std::int64_t failed = std::count_if(runs_.begin(), runs_.end(),
                                            [](const RcpRun& run) { return !run.converged_after; });
  const auto most = static_cast<std::int64_t>(set_->dropped_each_end);
  if (failed > most) {
    end(RcpOutcome::kInsufficientConvergence,
        fmt::format("insufficient convergence: {} of {} runs did not converge, at most {} may",
                    failed, runs_.size(), most) +
            unplaced_text());
    result_.advice.push_back(fmt::format("{} more converged runs are needed", failed - most));
    return false;
  }
  std::sort(converged.begin(), converged.end());
  const std::span<const double> counted = without_extremes(converged, set_->dropped_each_end);
  if (counted.empty()) {
    end(RcpOutcome::kTooFewRuns, fmt::format("{} runs: nothing is left without {}, {} are required",
                                             runs_.size(), set_->extremes(), set_->runs_required));
    return false;
  }
  result_.submission_mean = mean_of(counted);
  return true;
}

/// A note on runs that count as failed although they ended with success; "" without any.
std::string Test::unplaced_text() const {
  const auto unplaced = std::ranges::count_if(
      runs_, [](const RcpRun& run) { return run.succeeded && !run.converged_after; });
  if (unplaced == 0) return "";
  return fmt::format("; {} of them ended with success, but no evaluation tells after how many {}",
                     unplaced, set_->unit);
}

void Test::find_reference() {
  const std::vector<ConvergencePoint> points = curve_->points(options_.points);
  const double batch_size = *result_.batch_size;
  const auto above = std::find_if(points.begin(), points.end(), [&](const auto& point) {
    return point.batch_size >= batch_size;
  });
  if (above == points.end()) {
    const ConvergencePoint& largest = points.back();
    end(RcpOutcome::kMissing,
        fmt::format("missing: batch size {} is above the largest with a reference point, {}",
                    digits_text(batch_size), digits_text(largest.batch_size)));
  } else if (above->batch_size == batch_size) {
    result_.outcome = RcpOutcome::kFound;
    compare(*above);
    result_.message = fmt::format("found: reference point at batch size {}: {}",
                                  digits_text(batch_size), figures());
  } else if (above == points.begin()) {
    compare_with_smallest(*above);
  } else {
    const ConvergencePoint& low = *std::prev(above);
    result_.outcome = RcpOutcome::kInterpolated;
    result_.between = {low.batch_size, above->batch_size};
    compare(curve_->between(low, *above, batch_size));
    result_.message =
        fmt::format("interpolated: batch size {} between reference points at {} and {}: {}",
                    digits_text(batch_size), digits_text(low.batch_size),
                    digits_text(above->batch_size), figures());
  }
}

void Test::compare(const ConvergencePoint& reference) {
  const double mean = *result_.submission_mean;
  result_.reference = reference;
  result_.p_value = reference.test.p_value(mean);
  result_.passed = mean >= reference.least_mean;
  const double factor = reference.test.mean / mean;
  if (options_.era != RcpEra::kFirstRounds && std::isfinite(factor) && factor > 1.0) {
    result_.normalization = factor;
  }
}

void Test::compare_with_smallest(const ConvergencePoint& smallest) {
  compare(smallest);
  const std::string sizes =
      fmt::format("batch size {} is below the smallest with a reference point, {}",
                  digits_text(*result_.batch_size), digits_text(smallest.batch_size));
  if (result_.passed) {
    end(RcpOutcome::kSlowerOnSmallerBatch,
        fmt::format("slower convergence on a smaller batch size: {}: {}", sizes, figures()));
  } else {
    end(RcpOutcome::kMissing, fmt::format("missing: {}: {}", sizes, figures()));
  }
}

std::string Test::figures() const {
  const MeanTest& test = result_.reference->test;
  return fmt::format(
      "reference mean {} {} (nine in ten means within {} to {}), at least {} needed; the runs' "
      "mean is {}, p {:.4f}: {}",
      digits_text(test.mean), result_.unit, digits_text(test.mean - test.half_width()),
      digits_text(test.mean + test.half_width()), digits_text(result_.reference->least_mean),
      digits_text(*result_.submission_mean), *result_.p_value, verdict_text());
}

std::string Test::verdict_text() const {
  if (!result_.passed) return "faster than chance allows";
  const bool by_leeway = *result_.submission_mean < result_.reference->least_mean + set_->leeway;
  if (!by_leeway) return "no faster than chance allows";
  return fmt::format("faster than chance allows, but within the leeway of {} {}",
                     digits_text(set_->leeway), result_.unit);
}

void Test::advise() {
  std::vector<std::string>& advice = result_.advice;
  const std::int64_t required = set_->runs_required;
  if (static_cast<std::int64_t>(runs_.size()) != required) {
    advice.push_back(fmt::format("{} runs, where {} are required: the test is made for {}",
                                 runs_.size(), required, required));
  }
  if (result_.outcome == RcpOutcome::kMissing) {
    const bool is_below = result_.reference.has_value();
    advice.push_back(
        fmt::format("a reference point at batch size {} or {} is needed: {} runs of the reference "
                    "implementation",
                    digits_text(*result_.batch_size), is_below ? "less" : "more", 2 * required));
  }
  if (result_.reference && !result_.passed) advise_faster();
  if (result_.outcome == RcpOutcome::kInterpolated && !result_.passed) {
    advice.push_back(
        fmt::format("or a reference point at batch size {} itself, which would take the place of "
                    "the line between {} and {}: {} runs of the reference implementation",
                    digits_text(*result_.batch_size), digits_text(result_.between[0]),
                    digits_text(result_.between[1]), 2 * required));
  }
  if (result_.passed && result_.normalization > 1.0) {
    advice.push_back(fmt::format(
        "faster than the reference's mean: the score is to be multiplied by {:.6f} (scaling.json)",
        result_.normalization));
  }
  advise_pruned();
}

void Test::advise_faster() {
  const double lacking = result_.reference->least_mean - *result_.submission_mean;
  const auto counted = static_cast<double>(runs_.size() - 2 * set_->dropped_each_end);
  result_.advice.push_back(fmt::format(
      "to pass, the mean must rise by {} {} to {}: {} {} more over the {} counted runs",
      difference_text(lacking), result_.unit, digits_text(result_.reference->least_mean),
      difference_text(lacking * counted), result_.unit, counted));
}

/// Reports a pruned point at exactly this batch size, and whether the runs would pass against it.
void Test::advise_pruned() {
  if (options_.points == RcpPoints::kAll) return;
  for (const ConvergencePoint& point : curve_->points()) {
    if (!point.pruned || point.batch_size != *result_.batch_size) continue;
    const bool would_pass = *result_.submission_mean >= point.least_mean;
    result_.advice.push_back(
        fmt::format("the reference point at batch size {} (at least {} needed) is pruned, because "
                    "others converge faster; against it the runs would {}",
                    digits_text(point.batch_size), digits_text(point.least_mean),
                    would_pass ? "pass" : "fail"));
  }
}

void Test::bypass() {
  const RcpOutcome outcome = result_.outcome;
  const bool is_compared = outcome == RcpOutcome::kFound || outcome == RcpOutcome::kInterpolated;
  const bool may_miss = options_.era != RcpEra::kFirstRounds && outcome == RcpOutcome::kMissing;
  if (!options_.bypass || result_.passed || !(is_compared || may_miss)) return;
  result_.passed = true;
  result_.bypassed = true;
  result_.message += "; passes by rcp-bypass, to be reviewed by the committee";
}

}  // namespace

RcpResult test_convergence(std::span<const RcpRun> runs, const std::optional<ReferenceSet>& set,
                           const RcpOptions& options) {
  return Test(runs, set ? &*set : nullptr, options).result();
}

mllog::Finding finding_of(const RcpResult& result, mllog::Finding::Severity severity) {
  std::string text = result.message;
  for (const std::string& advice : result.advice) text += "; " + advice;
  if (result.outcome == RcpOutcome::kNoReferencePoints) {
    return package_finding("rcp.no-points", text + "; left out");
  }
  if (!result.passed) return {severity, 0, 0, text, "rcp.failed"};
  return {result.bypassed ? Severity::kWarning : Severity::kNote, 0, 0, text, "rcp.passed"};
}

std::string_view to_string(RcpOutcome outcome) {
  switch (outcome) {
    case RcpOutcome::kFound:
      return "found";
    case RcpOutcome::kInterpolated:
      return "interpolated";
    case RcpOutcome::kSlowerOnSmallerBatch:
      return "slower convergence on a smaller batch size";
    case RcpOutcome::kMissing:
      return "missing";
    case RcpOutcome::kNoReferencePoints:
      return "no reference points";
    case RcpOutcome::kInsufficientConvergence:
      return "insufficient convergence";
    case RcpOutcome::kNoBatchSize:
      return "no batch size";
    case RcpOutcome::kMixedRuns:
      return "runs that do not belong together";
    default:
      return "too few runs";
  }
}

}  // namespace analysis::submission
