// What the facts of a log show that its reader should know.
// Hides the conditions.
#include <fmt/format.h>

#include "analysis/facts.h"
#include "analysis/numbers.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

/// Clocks of different ranks differ by a millisecond or two; more is worth telling.
constexpr double kHarmlessReversalMs = 1000.0;

class Audit {
 public:
  explicit Audit(const RunFacts& facts) : facts_(facts) {}
  void judge_end();
  void judge_target();
  void judge_consistency();
  std::vector<Finding> findings() && { return std::move(findings_); }

 private:
  void tell(Finding::Severity severity, const std::string& text) {
    findings_.push_back({severity, 0, 0, text, {}});
  }
  const RunFacts& facts_;
  std::vector<Finding> findings_;
};

void Audit::judge_end() {
  using enum Finding::Severity;
  if (!facts_.run_start_ms) {
    tell(kError, "no run_start: the run did not get beyond its initialisation");
  } else if (!facts_.run_stop_ms) {
    tell(kError, "no run_stop: the run was cut off; its times end with the log");
  } else if (*facts_.run_stop_ms < *facts_.run_start_ms) {
    tell(kError, "run_stop is earlier than run_start");
  }
  const bool no_status = std::holds_alternative<std::monostate>(facts_.run_stop_status);
  if (facts_.run_stop_ms && no_status) tell(kWarning, "run_stop has no status");
  if (facts_.resumed) tell(kWarning, "resumed from a checkpoint: not submittable");
}

void Audit::judge_target() {
  using enum Finding::Severity;
  if (facts_.outcome == Outcome::kTargetMissed) {
    tell(kError, fmt::format("the log says success, but no {} meets the target {}: best {}",
                             facts_.target.metric, *facts_.target.value,
                             quality_text(facts_.best_quality)));
  }
  if (facts_.outcome == Outcome::kTargetUnknown) {
    tell(kWarning, "neither the log nor the rules name a quality target");
  }
  const Benchmark* row = find_benchmark(facts_.config_text(mllog::keys::kSubmissionBenchmark));
  const bool closed = facts_.config_text(mllog::keys::kSubmissionDivision) == "closed";
  if (closed && row && facts_.target.from_log && facts_.target.value != row->target) {
    tell(kWarning, fmt::format("the log's target {} is not the closed division's {}",
                               *facts_.target.value, row->target));
  }
}

void Audit::judge_consistency() {
  using enum Finding::Severity;
  if (facts_.mixed_clocks) {
    tell(kWarning, "times of two clocks in one log: differences across them mean nothing");
  } else if (facts_.max_reversal_ms > kHarmlessReversalMs) {
    tell(kWarning, fmt::format("time goes back in {} places, by up to {}", facts_.time_reversals,
                               duration_text(facts_.max_reversal_ms / 1000.0)));
  }
  for (const auto& [key, values] : facts_.conflicting_keys) {
    tell(kWarning,
         fmt::format("{} has {} different values; the first is used", key, values.size()));
  }
}

}  // namespace

std::vector<Finding> audit(const RunFacts& facts) {
  if (facts.outcome == Outcome::kNoRecords) return {};
  Audit audit(facts);
  audit.judge_end();
  audit.judge_target();
  audit.judge_consistency();
  return std::move(audit).findings();
}

}  // namespace analysis
