// What one log means: outcome, evaluations, rates.
// Hides which of a log's records belong to the run.
#include "analysis/facts.h"

#include <algorithm>
#include <set>

#include "analysis/progress.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

constexpr double kMsPerSecond = 1000.0;

void copy_counts(const ParsedLog& log, RunFacts& facts) {
  facts.bytes = log.bytes;
  facts.records = log.records;
  facts.malformed_records = log.malformed_records;
  facts.other_lines = log.other_lines;
  facts.time_reversals = log.time_reversals;
  facts.max_reversal_ms = log.max_reversal_ms;
  facts.mixed_clocks = log.has_small_times && log.has_large_times;
  facts.resumed = log.resumed;
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

/// The window's marks: run_start, run_stop, and the time between them; init_s beside it.
void find_window(const ParsedLog& log, RunFacts& facts) {
  const Mark* start = log.first(keys::kRunStart);
  const Mark* stop = log.first(keys::kRunStop);
  if (start) facts.run_start_ms = start->time_ms;
  if (stop) {
    facts.run_stop_ms = stop->time_ms;
    facts.records_after_run_stop = log.records - 1 - stop->order;
    facts.run_stop_status = log.status;
  }
  if (start && stop) facts.ttt_s = (stop->time_ms - start->time_ms) / kMsPerSecond;

  const std::vector<Mark>& init = log.all(keys::kInitStart);
  const Mark* init_stop = log.first(keys::kInitStop);
  if (init.empty() || !init_stop) return;
  const auto first = std::min_element(
      init.begin(), init.end(), [](const Mark& a, const Mark& b) { return a.time_ms < b.time_ms; });
  facts.init_s = (init_stop->time_ms - first->time_ms) / kMsPerSecond;
}

QualityTarget choose_target(const ParsedLog& log, const Benchmark* benchmark) {
  if (log.own_target) return *log.own_target;
  QualityTarget target;
  if (benchmark) {
    target.metric = benchmark->metric;
    target.direction = benchmark->direction;
    target.value = benchmark->target;
  } else if (!log.evaluations.contains(keys::kEvalAccuracy) &&
             log.evaluations.contains(keys::kEvalError)) {
    target.metric = keys::kEvalError;
    target.direction = Direction::kFalls;
  } else {
    target.metric = keys::kEvalAccuracy;
  }
  return target;
}

/// The evaluations that count, each once, in time order. Neither file order nor time alone is
/// right in real logs: being before run_stop in either is enough.
std::vector<Evaluation> evaluations_of(const ParsedLog& log, const std::string& metric) {
  const auto found = log.evaluations.find(metric);
  const Mark* start = log.first(keys::kRunStart);
  if (found == log.evaluations.end() || !start) return {};
  const Mark* stop = log.first(keys::kRunStop);
  std::vector<Sample> counted;
  std::set<std::pair<std::optional<double>, std::string>> seen;
  for (const Sample& sample : found->second) {
    if (sample.time_ms < start->time_ms) continue;
    if (stop && sample.order > stop->order && sample.time_ms > stop->time_ms) continue;
    if (seen.emplace(sample.epoch_num, to_exact_text(sample.value)).second) {
      counted.push_back(sample);
    }
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const Sample& a, const Sample& b) { return a.time_ms < b.time_ms; });
  std::vector<Evaluation> evaluations;
  for (const Sample& sample : counted) {
    evaluations.push_back({sample.epoch_num, sample.time_ms,
                           (sample.time_ms - start->time_ms) / kMsPerSecond, sample.value,
                           sample.order, sample.place});
  }
  return evaluations;
}

void judge_quality(RunFacts& facts) {
  const std::vector<Evaluation>& all = facts.evaluations;
  if (all.empty()) return;
  facts.first_quality = all.front().quality;
  facts.final_quality = all.back().quality;
  double best = all.front().quality;
  for (const Evaluation& one : all) best = facts.target.better(best, one.quality);
  facts.best_quality = best;
  const auto hit = std::find_if(all.begin(), all.end(), [&](const Evaluation& one) {
    return facts.target.met_by(one.quality);
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
  if (!facts.target.value) return Outcome::kTargetUnknown;
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
  if (const auto eval_samples = number(facts.config_value(keys::kEvalSamples))) {
    const auto evaluated = static_cast<double>(facts.evaluations.size()) * *eval_samples;
    facts.eval_throughput = ratio(evaluated, facts.parts.eval_s);
  }
}

}  // namespace

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNoRecords:
      return "no_records";
    case Outcome::kIncomplete:
      return "incomplete";
    case Outcome::kAborted:
      return "aborted";
    case Outcome::kSuccess:
      return "success";
    case Outcome::kTargetMissed:
      return "target_missed";
    case Outcome::kTargetUnknown:
      return "target_unknown";
  }
  return "";
}

std::optional<double> RunFacts::time_to_target_s() const {
  if (!at_target || resumed) return std::nullopt;
  return evaluations[*at_target].time_s;
}

std::optional<double> RunFacts::ttt_excluding_staging_s() const {
  if (!ttt_s) return std::nullopt;
  return *ttt_s - parts.staging_in_run_s.value_or(0.0);
}

std::optional<double> RunFacts::ttt_including_staging_s() const {
  if (!ttt_s) return std::nullopt;
  return *ttt_s + parts.staging_s.value_or(0.0) - parts.staging_in_run_s.value_or(0.0);
}

std::optional<double> RunFacts::mean_epoch_s() const {
  return ratio(parts.epoch_s, progress.epochs_run);
}

Value RunFacts::config_value(const std::string& key) const {
  const auto found = config.find(key);
  return found == config.end() ? Value() : found->second;
}

std::string RunFacts::config_text(const std::string& key) const {
  return to_text(config_value(key));
}

RunFacts facts_of(const ParsedLog& log) {
  RunFacts facts;
  copy_counts(log, facts);
  copy_config(log, facts);
  find_window(log, facts);
  const Benchmark* benchmark = find_benchmark(facts.config_text(keys::kSubmissionBenchmark));
  facts.target = choose_target(log, benchmark);
  facts.evaluations = evaluations_of(log, facts.target.metric);
  judge_quality(facts);
  facts.outcome = outcome_of(facts);
  if (!facts.run_start_ms) return facts;

  const Window window{*facts.run_start_ms, facts.run_stop_ms.value_or(log.largest_time_ms)};
  facts.window_s = (window.end_ms - window.begin_ms) / kMsPerSecond;
  const RunIntervals intervals = intervals_of(log, window);
  facts.blocks = intervals.blocks;
  facts.parts = parts_of(intervals, window);
  if (facts.resumed) {
    facts.progress.note = "a resumed run: its log has only the part behind the checkpoint";
    facts.ttt_s.reset();
  } else {
    facts.progress = progress_of(log, intervals, facts, benchmark);
  }
  facts.reported_throughput_mean = mean_throughput(log, window);
  compute_rates(facts);
  return facts;
}

}  // namespace analysis
