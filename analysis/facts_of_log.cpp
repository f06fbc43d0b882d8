// Computes the facts of one log: outcome, times, evaluations, rates.
#include "analysis/facts_of_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "analysis/progress.h"
#include "runner/base/units.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void copy_counts(const ParsedLog& log, RunFacts& facts) {
  facts.bytes = log.bytes;
  facts.records = log.records;
  facts.malformed_records = log.malformed_records;
  facts.other_lines = log.other_lines;
  facts.time_reversals = log.time_reversals;
  facts.max_reversal_ms = log.max_reversal_ms;
  facts.mixed_clocks = log.mixed_clocks;
  facts.other_unit = log.other_unit;
  facts.staged_sets = log.staging.sets;
  facts.warm_data = log.staging.warm;
  facts.resumed = log.resumed;
  facts.resumed_from = log.resumed_from;
  for (const auto& [key, count] : log.counts) {
    if (count > 1) facts.repeated_keys[key] = count;
  }
}

void copy_config(const ParsedLog& log, RunFacts& facts) {
  for (const std::string& key : config_keys()) {
    Value& value = facts.config[key];
    const auto found = log.config.find(key);
    if (found == log.config.end()) continue;
    value = found->second.first;
    if (found->second.others.empty()) continue;
    std::vector<Value>& all = facts.conflicting_keys[key];
    all = found->second.others;
    all.insert(all.begin(), value);
  }
}

/// Takes the earliest date: logs merged from several files have records in any order, with times
/// of several clocks.
void find_launch(const ParsedLog& log, RunFacts& facts) {
  facts.launched_ms = log.first_date_ms;
  for (const char* const key : {keys::kInitStart, keys::kRunStart}) {
    const Mark* const mark = log.first(key);
    if (mark == nullptr || !mllog::is_date(mark->time_ms)) continue;
    facts.launched_ms = std::min(facts.launched_ms.value_or(mark->time_ms), mark->time_ms);
  }
}

/// Says in the note that figures rest on times in another unit.
void note_unit(RunFacts& facts) {
  if (!facts.other_unit) return;
  std::string& note = facts.progress.note;
  note = fmt::format("times and rates take time_ms for milliseconds, but it is {}{}{}",
                     *facts.other_unit, note.empty() ? "" : "; ", note);
}

/// Sets the times and status of run_start and run_stop, ttt_s and init_s.
void find_window(const ParsedLog& log, RunFacts& facts) {
  const Mark* start = log.first(keys::kRunStart);
  const Mark* stop = log.first(keys::kRunStop);
  if (start) facts.run_start_ms = start->time_ms;
  if (stop) {
    facts.run_stop_ms = stop->time_ms;
    facts.records_after_run_stop = log.items - 1 - stop->order;
    facts.run_stop_status = log.status;
  }
  if (start && stop) facts.ttt_s = (stop->time_ms - start->time_ms) / base::kMsPerSecond;

  const std::vector<Mark>& init = log.all(keys::kInitStart);
  const Mark* init_stop = log.first(keys::kInitStop);
  if (init.empty() || !init_stop) return;
  const auto first = std::min_element(
      init.begin(), init.end(), [](const Mark& a, const Mark& b) { return a.time_ms < b.time_ms; });
  facts.init_s = (init_stop->time_ms - first->time_ms) / base::kMsPerSecond;
}

/// Sets the target and the metric's key.
void choose_target(const ParsedLog& log, const mllog::EvaluationFacts* rules, RunFacts& facts) {
  if (log.own_target) {
    facts.target = log.own_target;
    facts.target_from_log = true;
  } else if (rules) {
    facts.target = rules->target;
  }
  const bool only_errors =
      !log.evaluations.contains(keys::kEvalAccuracy) && log.evaluations.contains(keys::kEvalError);
  facts.metric = facts.target  ? facts.target->key
                 : only_errors ? keys::kEvalError
                               : keys::kEvalAccuracy;
}

const std::optional<double>& number_at(const Position& position, const std::string& key) {
  if (key == keys::kSamplesCount) return position.samples_count;
  return key == keys::kStepNum ? position.step_num : position.epoch_num;
}

/// Sets the metadata member that is the position, and its unit: the benchmark's member, or another
/// one if no evaluation has that.
void choose_position(std::span<const Sample> samples, const mllog::EvaluationFacts* rules,
                     RunFacts& facts) {
  facts.position_key = rules ? rules->position : keys::kEpochNum;
  const auto has = [&](const std::string& key) {
    return std::ranges::any_of(
        samples, [&](const Sample& one) { return number_at(one.position, key).has_value(); });
  };
  for (const char* other : {keys::kSamplesCount, keys::kStepNum, keys::kEpochNum}) {
    if (!has(facts.position_key) && has(other)) facts.position_key = other;
  }
  if (facts.position_key == keys::kSamplesCount) {
    facts.position_unit = mllog::PositionUnit::kSamples;
  } else if (facts.position_key == keys::kStepNum) {
    facts.position_unit = mllog::PositionUnit::kSteps;
  } else if (rules) {
    facts.position_unit = rules->counts;
    for (const Sample& one : samples) {
      const bool counts_samples = rules->samples_from > 0.0 && one.position.epoch_num &&
                                  *one.position.epoch_num >= rules->samples_from;
      if (counts_samples) facts.position_unit = mllog::PositionUnit::kSamples;
    }
  } else if (facts.target_from_log) {
    facts.position_unit = mllog::PositionUnit::kEpochs;
  }
}

/// The value of one part of the target in a record; absent if the record has none.
std::optional<double> part_of(const Sample& sample, const mllog::TargetPart& part) {
  if (!part.metric.empty() && sample.metric != part.metric) return std::nullopt;
  if (part.member.empty()) return sample.value;
  for (const auto& [name, value] : sample.members) {
    if (name == part.member) return value;
  }
  return std::nullopt;
}

/// The records of `all` that count. In real logs neither file order nor time alone is right, so a
/// record counts if it precedes run_stop in either.
std::vector<const Sample*> counted_samples(const ParsedLog& log, std::span<const Sample> all) {
  std::vector<const Sample*> counted;
  const Mark* start = log.first(keys::kRunStart);
  if (!start) return counted;
  const Mark* stop = log.first(keys::kRunStop);
  for (const Sample& sample : all) {
    if (sample.time_ms < start->time_ms) continue;
    if (stop && sample.order > stop->order && sample.time_ms > stop->time_ms) continue;
    counted.push_back(&sample);
  }
  return counted;
}

Evaluation evaluation_of(const Sample& sample, const RunFacts& facts, double quality) {
  Evaluation one;
  one.position = number_at(sample.position, facts.position_key);
  one.time_ms = sample.time_ms;
  one.time_s = (sample.time_ms - *facts.run_start_ms) / base::kMsPerSecond;
  one.quality = quality;
  one.order = sample.order;
  one.place = sample.place;
  return one;
}

/// The evaluations of a target with one part, or of no target; repeated records count once.
std::vector<Evaluation> single_evaluations(const std::vector<const Sample*>& samples,
                                           const RunFacts& facts) {
  std::vector<Evaluation> evaluations;
  std::set<std::pair<std::optional<double>, std::optional<double>>> seen;
  for (const Sample* sample : samples) {
    const auto quality = facts.target ? part_of(*sample, facts.target->main()) : sample->value;
    if (!quality) continue;
    Evaluation one = evaluation_of(*sample, facts, *quality);
    const auto shown = std::isfinite(*quality) ? quality : std::nullopt;  // NaN != NaN
    if (!seen.emplace(one.position, shown).second) continue;
    evaluations.push_back(std::move(one));
  }
  return evaluations;
}

/// The evaluations of a target with several parts. Records with the same position form one
/// evaluation, whose time is that of the last of them.
std::vector<Evaluation> joined_evaluations(const std::vector<const Sample*>& samples,
                                           const RunFacts& facts) {
  const std::vector<mllog::TargetPart>& parts = facts.target->parts;
  std::vector<Evaluation> evaluations;
  for (const Sample* sample : samples) {
    Evaluation one = evaluation_of(*sample, facts, kNone);
    auto at = std::ranges::find_if(
        evaluations, [&](const Evaluation& other) { return other.position == one.position; });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto quality = part_of(*sample, parts[i]);
      if (!quality) continue;
      if (at == evaluations.end()) {
        one.parts.assign(parts.size(), kNone);
        evaluations.push_back(std::move(one));
        at = evaluations.end() - 1;
      }
      if (!std::isnan(at->parts[i])) continue;  // a copy by another rank
      at->parts[i] = *quality;
      at->time_ms = std::max(at->time_ms, sample->time_ms);
      at->time_s = (at->time_ms - *facts.run_start_ms) / base::kMsPerSecond;
    }
  }
  std::erase_if(evaluations, [](const Evaluation& one) { return std::isnan(one.parts[0]); });
  for (Evaluation& one : evaluations) one.quality = one.parts[0];
  return evaluations;
}

void find_evaluations(const ParsedLog& log, const mllog::EvaluationFacts* rules, RunFacts& facts) {
  const auto found = log.evaluations.find(facts.metric);
  std::span<const Sample> all;
  if (found != log.evaluations.end()) all = found->second;
  choose_position(all, rules, facts);
  const std::vector<const Sample*> samples = counted_samples(log, all);
  const bool joined = facts.target && facts.target->parts.size() > 1;
  facts.evaluations =
      joined ? joined_evaluations(samples, facts) : single_evaluations(samples, facts);
  const bool by_position = rules && rules->of_checkpoints;
  std::ranges::stable_sort(facts.evaluations, [&](const Evaluation& a, const Evaluation& b) {
    if (by_position && a.position != b.position) return a.position < b.position;
    return a.time_ms < b.time_ms;
  });
}

void judge_quality(RunFacts& facts) {
  const std::vector<Evaluation>& all = facts.evaluations;
  if (all.empty()) return;
  facts.first_quality = all.front().quality;
  facts.final_quality = all.back().quality;
  if (!facts.target) return;
  double best = all.front().quality;
  for (const Evaluation& one : all) best = mllog::better(*facts.direction(), best, one.quality);
  facts.best_quality = best;
  const auto hit = std::ranges::find_if(all, [&](const Evaluation& one) {
    return one.parts.empty() ? facts.target->main().met_by(one.quality)
                             : facts.target->met_by(one.parts);
  });
  if (hit != all.end()) facts.at_target = static_cast<std::size_t>(hit - all.begin());
}

Outcome outcome_of(const RunFacts& facts) {
  if (facts.records == 0) return Outcome::kNoRecords;
  if (!facts.run_start_ms || !facts.run_stop_ms) return Outcome::kIncomplete;
  const bool has_status = !std::holds_alternative<std::monostate>(facts.run_stop_status);
  if (has_status && facts.run_stop_status != Value(std::string("success"))) {
    return Outcome::kAborted;
  }
  if (!facts.target) return Outcome::kTargetUnknown;
  return facts.at_target ? Outcome::kSuccess : Outcome::kTargetMissed;
}

std::optional<double> mean_throughput(const ParsedLog& log, const Window& window) {
  double sum = 0.0;
  std::int64_t count = 0;
  for (const TimedValue& sample : log.throughputs) {
    if (sample.time_ms < window.begin_ms || sample.time_ms > window.end_ms) continue;
    sum += sample.value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::optional<double> ratio(const std::optional<double>& amount,
                            const std::optional<double>& seconds) {
  if (!amount || !seconds || *amount == 0.0 || *seconds == 0.0) return std::nullopt;
  return *amount / *seconds;
}

void compute_rates(RunFacts& facts) {
  facts.train_throughput = ratio(facts.progress.samples_run, facts.parts.train_s);
  facts.run_throughput = ratio(facts.progress.samples_run, facts.ttt_s);
  const bool in_tokens = facts.position_unit == mllog::PositionUnit::kTokens;
  const auto eval_samples = number(facts.config_value(keys::kEvalSamples));
  if (eval_samples && !in_tokens) {
    const auto evaluated = static_cast<double>(facts.evaluations.size()) * *eval_samples;
    facts.eval_throughput = ratio(evaluated, facts.parts.eval_s);
  }
}

}  // namespace

RunFacts facts_of(const ParsedLog& log, const std::string& round) {
  RunFacts facts;
  facts.round = round;
  copy_counts(log, facts);
  copy_config(log, facts);
  find_launch(log, facts);
  facts.seeds = log.seeds;
  find_window(log, facts);
  const mllog::Benchmark* benchmark =
      mllog::find_benchmark(facts.config_text(keys::kSubmissionBenchmark));
  const mllog::EvaluationFacts* rules = nullptr;
  if (benchmark) {
    const auto batch = number(facts.config_value(keys::kGlobalBatchSize));
    rules = &benchmark->evaluation(round, batch);
  }
  facts.evaluates_checkpoints = rules && rules->of_checkpoints;
  choose_target(log, rules, facts);
  find_evaluations(log, rules, facts);
  judge_quality(facts);
  facts.outcome = outcome_of(facts);
  if (!facts.run_start_ms) return facts;

  const Window window{*facts.run_start_ms, facts.run_stop_ms.value_or(log.largest_time_ms)};
  facts.window_s = (window.end_ms - window.begin_ms) / base::kMsPerSecond;
  const RunIntervals intervals = intervals_of(log, window);
  facts.blocks = intervals.blocks;
  facts.parts = parts_of(intervals, window,
                         facts.counts_epochs() ? TrainedIn::kEpochs : TrainedIn::kEpochsOrBlocks);
  if (facts.resumed) {
    facts.progress.note = "a resumed run: its log has only the part after the checkpoint";
    facts.ttt_s.reset();
  } else {
    facts.progress = progress_of(log, intervals, facts, rules);
  }
  note_unit(facts);
  facts.reported_throughput_mean = mean_throughput(log, window);
  compute_rates(facts);
  return facts;
}

}  // namespace analysis
