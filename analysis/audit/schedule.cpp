// Audit of evaluations against the schedule that the rules require of a closed run: the first one,
// the distances between them, and the training after the last one. Evaluations must be at least as
// frequent, so rarer ones are warned of and more frequent ones are noted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analysis/audit/parts.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Rounding a distance to whole iterations changes it by at most this fraction.
constexpr double kCadenceTolerance = 0.02;

/// The first evaluation that counts at each position, in time order.
std::vector<const Evaluation*> one_at_each_position(const RunFacts& facts) {
  std::vector<const Evaluation*> list;
  std::set<double> seen;
  for (const Evaluation& one : facts.evaluations) {
    if (one.position && seen.insert(*one.position).second) list.push_back(&one);
  }
  return list;
}

/// The range that the rules allow, in the unit of positions.
struct Allowed {
  double least = 0.0, most = 0.0;
  /// Tolerances for rounding and numbering, which apply if larger than kCadenceTolerance.
  double below = 0.0, above = 0.0;

  bool is_too_small(double value) const {
    return value < least * (1.0 - kCadenceTolerance) && value < least - below;
  }
  bool is_too_large(double value) const {
    return value > most * (1.0 + kCadenceTolerance) && value > most + above;
  }
  std::string words() const {
    return least == most ? fmt::format("{:.6g}", least)
                         : fmt::format("{:.6g} to {:.6g}", least, most);
  }
};

/// The schedule of a log's benchmark, in the unit of the log's positions.
class LogSchedule {
 public:
  /// Absent if the log's positions cannot be compared with the rule.
  static std::optional<LogSchedule> of(const AuditInput& input);

  Allowed distance() const;
  /// Absent if the rules, as far as known here, do not restrict the first evaluation.
  std::optional<Allowed> first() const;
  /// Positions per sample; 0 if positions count neither samples nor tokens.
  double per_sample() const { return per_sample_; }
  double batch() const { return batch_; }
  /// By how much positions of the same training may differ: epochs are numbered from 0 or 1, and
  /// samples may be counted before or after a batch.
  double numbering() const {
    const bool in_epochs = input_.facts.position_unit == mllog::PositionUnit::kEpochs;
    return in_epochs ? 1.0 : batch_ * per_sample_;
  }
  const mllog::Schedule& rules() const { return rules_; }

 private:
  LogSchedule(const AuditInput& input, const mllog::Schedule& rules);
  Allowed in_positions(double amount) const;

  const AuditInput& input_;
  const mllog::Schedule& rules_;
  double batch_ = 0.0;  ///< global; 0 if the log has none
  double per_sample_ = 0.0;
};

LogSchedule::LogSchedule(const AuditInput& input, const mllog::Schedule& rules)
    : input_(input), rules_(rules) {
  using mllog::PositionUnit;
  batch_ = number(input.facts.config_value(keys::kGlobalBatchSize)).value_or(0.0);
  if (input.facts.position_unit == PositionUnit::kSamples) per_sample_ = 1.0;
  if (input.facts.position_unit == PositionUnit::kTokens) {
    per_sample_ = static_cast<double>(input.evaluation()->tokens_per_sample);
  }
}

std::optional<LogSchedule> LogSchedule::of(const AuditInput& input) {
  using Unit = mllog::Schedule::Unit;
  using mllog::PositionUnit;
  const RunFacts& facts = input.facts;
  const mllog::Schedule* const rules =
      input.benchmark ? input.benchmark->schedule(facts.round) : nullptr;
  if (!rules || !input.closed || !facts.position_unit) return std::nullopt;
  const LogSchedule schedule(input, *rules);
  const PositionUnit counts = input.evaluation()->counts;
  const bool counts_otherwise =
      facts.position_unit == PositionUnit::kSamples && rules->in == Unit::kSamplesInWholeEpochs;
  if (facts.position_unit != counts && !counts_otherwise) return std::nullopt;
  const bool by_batch = rules->in != Unit::kPositions || rules->every_by_batch;
  if (by_batch && schedule.batch_ <= 0.0) return std::nullopt;
  if (rules->in == Unit::kPositions) {
    // DeepCAM of v0.7 was evaluated after a number of steps that the rules left open.
    const bool counts_evaluations = facts.blocks && counts == PositionUnit::kPasses;
    if (counts_evaluations || input.log.oddities.evaluations_by_step) return std::nullopt;
  }
  return schedule;
}

Allowed LogSchedule::in_positions(double amount) const {
  using Unit = mllog::Schedule::Unit;
  if (rules_.in == Unit::kPositions) {
    const double batch = rules_.every_by_batch ? batch_ * per_sample_ : 0.0;
    return {amount, amount, batch, batch};
  }
  if (rules_.in == Unit::kSamplesInWholeEpochs) {
    const auto samples = static_cast<double>(input_.benchmark->train_samples.front());
    const double padded = std::ceil(samples / batch_) * batch_;
    const double least = std::ceil(amount / padded), most = std::ceil(amount / samples);
    if (per_sample_ == 0.0) return {least, most};
    return {least * samples, std::max(most * samples, least * padded)};
  }
  const bool whole = rules_.in == Unit::kSamplesInWholeBatches;
  const double positions =
      (whole ? std::ceil(amount / batch_) * batch_ : amount * batch_) * per_sample_;
  return {positions, positions};
}

Allowed LogSchedule::distance() const {
  return in_positions(rules_.every_by_batch ? rules_.every_by_batch->at(batch_) : rules_.every);
}

std::optional<Allowed> LogSchedule::first() const {
  if (!rules_.first) return std::nullopt;
  const mllog::FirstEvaluation& first = *rules_.first;
  Allowed allowed = distance();
  if (first.at) {
    allowed = in_positions(*first.at);
  } else {
    const double intervals = first.left_out.at(batch_) + 1.0;
    allowed.least *= intervals;
    allowed.most *= intervals;
  }
  if (first.or_earlier) allowed.least = 0.0;
  allowed.below = numbering();
  allowed.above = batch_ * per_sample_;
  return allowed;
}

/// Deviations of one kind: how many, and the first.
void add_steps(const AuditInput& input, const LogSchedule& schedule, const Tally& seen, Rule rule,
               AuditFindings& findings) {
  if (seen.count == 0) return;
  const bool is_rare = rule == Rule::kEvaluationCadence;
  findings.add_finding(
      rule, seen.first,
      fmt::format("{} must be evaluated {}{}: expected steps of {} in {}, found {} {}, first {}",
                  input.benchmark->name, is_rare ? "" : "at least ", schedule.rules().words,
                  schedule.distance().words(), input.facts.position_key, seen.count,
                  is_rare ? "larger" : "smaller", seen.what));
}

void count_step(Tally& seen, Place place, double from, const std::string& to, double step) {
  if (seen.count++ > 0) return;
  seen.first = place;
  seen.what = fmt::format("{:.6g} from {:.6g} to {}", step, from, to);
}

/// The number of the last epoch that ended inside the run.
std::optional<double> last_epoch(const AuditInput& input) {
  std::map<double, double> epochs_of_block;
  for (const Mark& start : input.log.all(keys::kBlockStart)) {
    if (start.label && start.epoch_count) epochs_of_block[*start.label] = *start.epoch_count;
  }
  const bool blocks = input.facts.blocks;
  std::optional<double> last;
  for (const Mark& stop : input.log.all(blocks ? keys::kBlockStop : keys::kEpochStop)) {
    const std::optional<double> end = input.facts.run_stop_ms;
    if (!stop.label || (end && stop.time_ms > *end)) continue;
    const auto block = epochs_of_block.find(*stop.label);
    if (blocks && block == epochs_of_block.end()) continue;
    const double number = blocks ? *stop.label + block->second - 1.0 : *stop.label;
    last = std::max(last.value_or(number), number);
  }
  return last;
}

/// How far the training came, in the unit of positions. Absent if the log does not say, and if
/// evaluations may lag: beside or after the training.
std::optional<double> trained_until(const AuditInput& input) {
  using mllog::PositionUnit;
  const RunFacts& facts = input.facts;
  if (facts.parts.async_eval || facts.evaluates_checkpoints) return std::nullopt;
  if (facts.position_unit == PositionUnit::kSamples) return input.log.stopped_at.samples_count;
  return facts.position_unit == PositionUnit::kEpochs ? last_epoch(input) : std::nullopt;
}

void audit_cadence(const AuditInput& input, const LogSchedule& schedule, AuditFindings& findings) {
  const Allowed distance = schedule.distance();
  const std::vector<const Evaluation*> all = one_at_each_position(input.facts);
  Tally rare, frequent;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double from = *all[i - 1]->position, to = *all[i]->position, step = to - from;
    if (step <= 0.0) continue;
    const std::string end = fmt::format("{:.6g}", to);
    if (distance.is_too_large(step)) count_step(rare, all[i]->place, from, end, step);
    if (distance.is_too_small(step)) count_step(frequent, all[i]->place, from, end, step);
  }
  const bool has_places = std::ranges::all_of(
      input.facts.evaluations, [](const Evaluation& one) { return one.position.has_value(); });
  const std::optional<double> until = trained_until(input);
  if (until && !all.empty() && has_places) {
    const double from = *all.back()->position, step = *until - from;
    Allowed left = distance;
    left.above = schedule.numbering();
    if (left.is_too_large(step)) {
      count_step(rare, all.back()->place, from, fmt::format("the end, {:.6g}", *until), step);
    }
  }
  add_steps(input, schedule, rare, Rule::kEvaluationCadence, findings);
  add_steps(input, schedule, frequent, Rule::kEvaluationFrequent, findings);
}

/// The evaluation at the smallest position, whatever their order in time. Evaluations before any
/// training do not count.
const Evaluation* first_evaluation(const RunFacts& facts) {
  const Evaluation* first = nullptr;
  for (const Evaluation& one : facts.evaluations) {
    if (!one.position || *one.position <= 0.0) continue;
    if (first == nullptr || *one.position < *first->position) first = &one;
  }
  return first;
}

void audit_no_evaluation(const AuditInput& input, const LogSchedule& schedule,
                         const Allowed& allowed, AuditFindings& findings) {
  const std::optional<double> until = trained_until(input);
  if (!until || !allowed.is_too_large(*until)) return;
  findings.add_finding(
      Rule::kFirstEvaluation, {},
      fmt::format("{} is evaluated {}: expected the first one at {:.6g} or earlier in {}, found "
                  "none up to {:.6g}",
                  input.benchmark->name, schedule.rules().words, allowed.most,
                  input.facts.position_key, *until));
}

void audit_first(const AuditInput& input, const LogSchedule& schedule, AuditFindings& findings) {
  const std::optional<Allowed> allowed = schedule.first();
  if (!allowed || input.facts.resumed) return;
  if (input.facts.evaluations.empty()) {
    return audit_no_evaluation(input, schedule, *allowed, findings);
  }
  const Evaluation* const first = first_evaluation(input.facts);
  if (first == nullptr) return;
  const double position = *first->position;
  // A number of samples is at least a batch, so the log counts something else.
  if (position < schedule.batch() * schedule.per_sample()) return;
  const bool is_early = allowed->is_too_small(position);
  if (!is_early && !allowed->is_too_large(position)) return;
  std::string expected = allowed->words();
  if (allowed->least != allowed->most) {
    expected = is_early ? fmt::format("{:.6g} or later", allowed->least)
                        : fmt::format("{:.6g} or earlier", allowed->most);
  }
  findings.add_finding(
      is_early ? Rule::kEvaluationFrequent : Rule::kFirstEvaluation, first->place,
      fmt::format("{} is evaluated {}: expected the first one at {} in {}, found it at "
                  "{:.6g}, {}",
                  input.benchmark->name, schedule.rules().words, expected, input.facts.position_key,
                  position, is_early ? "earlier" : "later"));
}

}  // namespace

void audit_schedule(const AuditInput& input, AuditFindings& findings) {
  const std::optional<LogSchedule> schedule = LogSchedule::of(input);
  if (!schedule) return;
  audit_cadence(input, *schedule, findings);
  audit_first(input, *schedule, findings);
}

}  // namespace analysis
