// Audit of a log's evaluations and epoch numbers: repeated, decreasing or missing numbers,
// impossible qualities.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "analysis/audit/parts.h"
#include "runner/base/printable.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Finds evaluations whose number is equal to or smaller than that of the one before.
void audit_advance(const AuditInput& input, AuditFindings& findings) {
  if (!input.benchmark) return;  // the meaning of epoch_num is unknown
  if (input.facts.evaluates_checkpoints) return;
  Tally stuck, back;
  const Evaluation* before = nullptr;
  for (const Evaluation& one : input.facts.evaluations) {
    if (!one.position) continue;
    if (before && one.time_ms > before->time_ms) {
      const auto what = [&] {
        return fmt::format("{:.6g} after {:.6g}", *one.position, *before->position);
      };
      // If evaluations follow a number of steps, an epoch may have several.
      const bool same = *one.position == *before->position;
      if (same && !input.log.oddities.evaluations_by_step && stuck.count++ == 0) {
        stuck.first = one.place;
        stuck.what = what();
      }
      if (*one.position < *before->position && back.count++ == 0) {
        back.first = one.place;
        back.what = what();
      }
    }
    before = &one;
  }
  if (stuck.count > 0) {
    findings.add_finding(Rule::kEpochNumberStuck, stuck.first,
                         fmt::format("{} evaluations have the {} of the one before, but another "
                                     "result: first {}",
                                     stuck.count, input.facts.position_key, stuck.what));
  }
  if (back.count > 0) {
    findings.add_finding(
        Rule::kEpochNumberBack, back.first,
        fmt::format("{} evaluations have a smaller {} than the one before: first {}", back.count,
                    input.facts.position_key, back.what));
  }
}

void audit_numbering(const AuditInput& input, AuditFindings& findings) {
  for (const auto& [key, seen] : input.log.oddities.without_epoch_num) {
    findings.add_finding(Rule::kEpochNumberMissing, seen.first,
                         fmt::format("{} has no metadata {} in {}, first here", key, seen.what,
                                     base::counted(seen.count, "record")));
  }
  const bool ordinal = input.benchmark &&
                       input.evaluation()->counts == mllog::PositionUnit::kEpochs &&
                       input.evaluation()->position == keys::kEpochNum;
  const std::vector<Mark>& starts =
      input.log.all(input.facts.blocks ? keys::kBlockStart : keys::kEpochStart);
  if (!ordinal || starts.empty()) return;
  std::set<double> numbers;
  for (const Mark& mark : starts) {
    if (mark.label) numbers.insert(*mark.label);
  }
  if (numbers.empty()) return;
  if (*numbers.begin() == 0.0) {
    findings.add_finding(Rule::kEpochsFromZero, place_of(starts.front()),
                         fmt::format("{}s are numbered from 0, expected from 1",
                                     input.facts.blocks ? "block" : "epoch"));
  }
  const double span = *numbers.rbegin() - *numbers.begin() + 1.0;
  const double missing = span - static_cast<double>(numbers.size());
  if (!input.facts.blocks && missing >= 1.0) {
    findings.add_finding(
        Rule::kEpochNumberGap, place_of(starts.front()),
        fmt::format("{:.6g} numbers between epoch {:.6g} and epoch {:.6g} are missing", missing,
                    *numbers.begin(), *numbers.rbegin()));
  }
}

const char* other_metric(const std::string& metric) {
  return metric == keys::kEvalAccuracy ? keys::kEvalError : keys::kEvalAccuracy;
}

/// Accuracies are between 0 and 1, losses and errors not negative.
void audit_range(const AuditInput& input, AuditFindings& findings) {
  const RunFacts& facts = input.facts;
  if (!input.benchmark || !facts.target) return;
  const bool is_part =
      *facts.direction() == mllog::Direction::kRises && *facts.target_value() < 1.0;
  Tally seen;
  for (const Evaluation& one : facts.evaluations) {
    if (!(is_part && one.quality > 1.0) && !(one.quality < 0.0)) continue;
    if (seen.count++ > 0) continue;
    seen.first = one.place;
    seen.what = fmt::format("{}", one.quality);
  }
  if (seen.count == 0) return;
  findings.add_finding(
      Rule::kQualityOutOfRange, seen.first,
      fmt::format("{} must {}, found {} others, first {}", facts.metric_name(),
                  is_part ? "lie between 0 and 1" : "not be negative", seen.count, seen.what));
}

void audit_metric(const AuditInput& input, AuditFindings& findings) {
  const bool wants_numbers = input.benchmark && input.evaluation()->target.main().member.empty();
  const auto add_odd_metric = [&](const std::string& key, const Tally& seen,
                                  std::string_view what) {
    findings.add_finding(Rule::kMetricNotNumber, seen.first,
                         fmt::format("{}: expected a number, found {} in {}, first here", key, what,
                                     base::counted(seen.count, "record")));
  };
  if (wants_numbers) {
    for (const auto& [key, seen] : input.log.oddities.odd_metrics)
      add_odd_metric(key, seen, seen.what);
    for (const auto& [key, seen] : input.log.oddities.object_metrics)
      add_odd_metric(key, seen, "object");
  }
  const std::string& metric = input.facts.metric;
  const auto own = input.log.evaluations.find(metric);
  const auto other = input.log.evaluations.find(other_metric(metric));
  if (other != input.log.evaluations.end()) {
    const bool both = own != input.log.evaluations.end();
    findings.add_finding(
        both ? Rule::kSecondMetric : Rule::kMetricOfAnotherName, other->second.front().place,
        both ? fmt::format("{} is logged in addition to {}, which is judged", other->first, metric)
             : fmt::format("{} has {} evaluations, {} none: the target is about {}", other->first,
                           other->second.size(), metric, metric));
  }
  audit_range(input, findings);
}

}  // namespace

void audit_epochs(const AuditInput& input, AuditFindings& findings) {
  audit_advance(input, findings);
  audit_numbering(input, findings);
  audit_metric(input, findings);
}

}  // namespace analysis
