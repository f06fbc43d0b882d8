// Audit of one log: how the run ended, and the call of all parts.
#include "analysis/audit/audit.h"

#include <fmt/format.h>

#include "analysis/audit/parts.h"
#include "analysis/numbers.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

Place place_of_first(const ParsedLog& log, const char* key) {
  const Mark* mark = log.first(key);
  return mark ? place_of(*mark) : Place{};
}

std::string exactly(const std::optional<double>& quality) {
  return quality ? fmt::format("{}", *quality) : "no evaluation";
}

/// The value to reach; for a target with several parts, all of them.
std::string target_text(const RunFacts& facts) {
  return facts.target->parts.size() > 1 ? facts.target->words()
                                        : fmt::format("{}", *facts.target_value());
}

void audit_window(const AuditInput& input, AuditFindings& findings) {
  const RunFacts& facts = input.facts;
  if (!facts.run_start_ms) {
    findings.add_finding(Rule::kRunStartMissing, {},
                         "no run_start: the run did not get beyond its initialisation");
  } else if (!facts.run_stop_ms) {
    findings.add_finding(
        Rule::kRunStopMissing, {},
        "no run_stop: the run was cut off, or still goes on; its times end with the log");
  } else if (*facts.run_stop_ms < *facts.run_start_ms) {
    findings.add_finding(
        Rule::kRunStopBeforeStart, place_of_first(input.log, keys::kRunStop),
        fmt::format("run_stop is earlier than run_start, by {}",
                    duration_text((*facts.run_start_ms - *facts.run_stop_ms) / 1000.0)));
  }
}

void audit_status(const AuditInput& input, AuditFindings& findings) {
  const RunFacts& facts = input.facts;
  const Place stop = place_of_first(input.log, keys::kRunStop);
  if (facts.resumed) {
    findings.add_finding(Rule::kRunResumed, {}, "resumed from a checkpoint: not submittable");
  }
  if (!facts.run_stop_ms) return;
  if (std::holds_alternative<std::monostate>(facts.run_stop_status)) {
    findings.add_finding(Rule::kRunStopWithoutStatus, stop, "run_stop has no status");
  }
  if (facts.outcome == Outcome::kAborted && facts.at_target) {
    findings.add_finding(
        Rule::kAbortedYetCounted, stop,
        fmt::format("status '{}', although {} {} meets the target {}: MLCommons' tools "
                    "count this run, here it has failed",
                    to_text(facts.run_stop_status), facts.metric_name(),
                    exactly(facts.evaluations[*facts.at_target].quality), target_text(facts)));
  } else if (facts.outcome == Outcome::kAborted) {
    findings.add_finding(Rule::kRunStopAborted, stop,
                         fmt::format("status '{}': the run did not converge; best {} {}",
                                     to_text(facts.run_stop_status), facts.metric_name(),
                                     exactly(facts.best_quality)));
  }
  if (const std::string& value = input.log.oddities.run_stop_value; !value.empty()) {
    findings.add_finding(Rule::kRunStopValue, stop,
                         "run_stop carries the value " + value + "; only metadata.status counts");
  }
}

void audit_target(const AuditInput& input, AuditFindings& findings) {
  const RunFacts& facts = input.facts;
  if (facts.outcome == Outcome::kTargetMissed) {
    const bool has_status = !std::holds_alternative<std::monostate>(facts.run_stop_status);
    findings.add_finding(
        Rule::kSuccessBelowTarget, place_of_first(input.log, keys::kRunStop),
        fmt::format("{}, but no {} meets the target {}: best {}",
                    has_status ? "the log says success" : "the run ended", facts.metric_name(),
                    target_text(facts), exactly(facts.best_quality)));
  }
  if (facts.outcome == Outcome::kTargetUnknown) {
    findings.add_finding(Rule::kTargetUnknown, {},
                         "neither the log nor the rules name a quality target");
  }
  const mllog::EvaluationFacts* const rules = input.evaluation();
  if (input.closed && rules && facts.target_from_log &&
      *facts.target_value() != rules->target.main().value) {
    findings.add_finding(Rule::kTargetNotOfRules, {},
                         fmt::format("the log's target {} is not the closed division's {}",
                                     *facts.target_value(), rules->target.main().value));
  }
}

}  // namespace

const mllog::EvaluationFacts* AuditInput::evaluation() const {
  if (!benchmark) return nullptr;
  return &benchmark->evaluation(facts.round, number(facts.config_value(keys::kGlobalBatchSize)));
}

void audit_end(const AuditInput& input, AuditFindings& findings) {
  audit_window(input, findings);
  audit_status(input, findings);
  audit_target(input, findings);
}

std::vector<Finding> audit(const ParsedLog& log, const RunFacts& facts) {
  if (facts.outcome == Outcome::kNoRecords) return {};
  const AuditInput input{log, facts,
                         mllog::find_benchmark(facts.config_text(keys::kSubmissionBenchmark)),
                         facts.config_text(keys::kSubmissionDivision) == "closed"};
  AuditFindings findings;
  audit_end(input, findings);
  audit_stop(input, findings);
  audit_clocks(input, findings);
  audit_intervals(input, findings);
  audit_schedule(input, findings);
  audit_epochs(input, findings);
  audit_form(input, findings);
  audit_settings(input, findings);
  return std::move(findings).take();
}

}  // namespace analysis
