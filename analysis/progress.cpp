// Splits a run's time by its log's intervals, and counts its epochs and samples.
#include "analysis/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Evaluations are asynchronous if they share more than this fraction of their time with epochs of
/// another number.
constexpr double kAsyncFraction = 0.01;

/// Pairs the n-th start with the n-th stop in file order; the log of a run that died while staging
/// has one start too many. Several ranks may log the same staging, so each moment counts once.
void pair_staging(const ParsedLog& log, const Window& window, RunIntervals& result) {
  const std::vector<Mark>& starts = log.all(keys::kStagingStart);
  const std::vector<Mark>& stops = log.all(keys::kStagingStop);
  result.has_staging = !starts.empty() || !stops.empty();
  Intervals whole;
  for (std::size_t i = 0; i < std::min(starts.size(), stops.size()); ++i) {
    whole.push_back({starts[i].time_ms, stops[i].time_ms, {}, starts[i].order, {}});
    const double begin = std::max(starts[i].time_ms, window.begin_ms);
    const double end = std::min(stops[i].time_ms, window.end_ms);
    if (begin < end) result.staging.push_back({begin, end, {}, starts[i].order, {}});
  }
  result.staging_ms = covered_ms(whole);
}

/// Epoch ends for a log without any, such as those of Training 0.5: the start of the next epoch.
/// Ranks may repeat a start.
std::vector<Mark> implied_stops(std::vector<Mark> starts) {
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Mark& a, const Mark& b) { return a.time_ms < b.time_ms; });
  std::vector<Mark> stops;
  for (auto start = starts.begin(); start != starts.end(); ++start) {
    const auto next = std::find_if(start, starts.end(),
                                   [&](const Mark& other) { return other.label != start->label; });
    if (next == starts.end()) break;
    stops.push_back(*next);
    stops.back().label = start->label;
  }
  return stops;
}

/// Some logs write the starts of all epochs at the end of the run, so their times mean nothing.
bool are_late(const std::vector<Mark>& starts, const std::vector<Mark>& evaluations) {
  const auto earlier = [](const Mark& a, const Mark& b) { return a.time_ms < b.time_ms; };
  if (starts.empty() || evaluations.empty()) return false;
  return std::min_element(starts.begin(), starts.end(), earlier)->time_ms >
         std::max_element(evaluations.begin(), evaluations.end(), earlier)->time_ms;
}

bool is_whole(const Interval& interval) {
  return interval.label && std::floor(*interval.label) == *interval.label;
}

bool is_async(const RunIntervals& intervals, double eval_ms) {
  if (intervals.blocks || eval_ms <= 0.0) return false;
  Intervals evaluations = intervals.evaluations;
  Intervals epochs = intervals.epochs;
  std::erase_if(evaluations, [](const Interval& i) { return !is_whole(i); });
  std::erase_if(epochs, [](const Interval& i) { return !is_whole(i); });
  return other_epoch_overlap_ms(evaluations, epochs) > kAsyncFraction * eval_ms;
}

/// An epoch that starts when the window ends was never trained.
bool was_trained(const Interval& interval, const Window& window) {
  return interval.begin_ms < window.end_ms;
}

/// Epochs are counted by their distinct numbers.
void count_epochs(const RunIntervals& intervals, const RunFacts& facts, RunProgress& progress) {
  std::set<double> numbers;
  for (const Interval& epoch : intervals.epochs) {
    if (epoch.label && was_trained(epoch, intervals.window)) numbers.insert(*epoch.label);
  }
  if (numbers.empty()) return;
  progress.epochs_run = static_cast<double>(numbers.size());
  if (!facts.at_target) return;
  const std::optional<double> last = facts.evaluations[*facts.at_target].position;
  if (!last) return;
  const auto until = std::distance(numbers.begin(), numbers.upper_bound(*last));
  progress.epochs_to_target = static_cast<double>(until);
}

/// Sums the epoch_count of blocks.
void count_blocks(const RunIntervals& intervals, const RunFacts& facts, RunProgress& progress) {
  std::map<double, const Interval*> blocks;  // the first of each number
  for (const Interval& block : intervals.epochs) {
    if (!block.label || !block.epoch_count || !was_trained(block, intervals.window)) continue;
    const auto [place, is_new] = blocks.emplace(*block.label, &block);
    if (!is_new && block.begin_ms < place->second->begin_ms) place->second = &block;
  }
  if (blocks.empty()) return;
  double run = 0.0;
  double to_target = 0.0;
  for (const auto& [label, block] : blocks) {
    run += *block->epoch_count;
    const bool before_hit =
        facts.at_target && block->begin_ms <= facts.evaluations[*facts.at_target].time_ms;
    if (before_hit) to_target += *block->epoch_count;
  }
  progress.epochs_run = run;
  if (facts.at_target) progress.epochs_to_target = to_target;
}

/// The epoch_num of evaluations counts passes: from the first epoch's number in DLRM; from 0 in GNN
/// and RGAT, although they number epochs from 1.
void count_fractions(const ParsedLog& log, const RunIntervals& intervals, const RunFacts& facts,
                     RunProgress& progress) {
  if (intervals.blocks) {
    progress.note = "epoch_num counts evaluations, not epochs";
    return;
  }
  const Mark* first = log.first(keys::kEpochStart);
  if (!first || !first->label || facts.evaluations.empty()) return;
  const std::optional<double> earliest = facts.evaluations.front().position;
  const double begin = earliest && *earliest < *first->label ? 0.0 : *first->label;
  if (const auto last = facts.evaluations.back().position) progress.epochs_run = *last - begin;
  if (!facts.at_target) return;
  if (const auto hit = facts.evaluations[*facts.at_target].position) {
    progress.epochs_to_target = *hit - begin;
  }
}

/// Logs of HugeCTR's DLRM, BERT and GPT-3 have train_samples at the end: the samples consumed.
bool logs_samples_consumed(const ParsedLog& log, const RunFacts& facts) {
  const auto train_samples = log.config.find(keys::kTrainSamples);
  const Mark* start = log.first(keys::kRunStart);
  if (!start || train_samples == log.config.end()) return false;
  if (facts.position_unit == mllog::PositionUnit::kPasses) {
    return facts.config_text(keys::kSubmissionBenchmark) == "dlrm" &&
           train_samples->second.order > start->order;
  }
  return !facts.evaluations.empty() &&
         train_samples->second.order > facts.evaluations.front().order;
}

/// Converts positions to numbers of samples.
class SampleCount {
 public:
  SampleCount(const RunFacts& facts, const mllog::EvaluationFacts* rules)
      : unit_(*facts.position_unit),
        batch_(number(facts.config_value(keys::kGlobalBatchSize))),
        tokens_(rules ? static_cast<double>(rules->tokens_per_sample) : 0.0) {}

  std::optional<double> of(const std::optional<double>& position) const {
    if (!position) return std::nullopt;
    if (unit_ == mllog::PositionUnit::kSamples) return position;
    if (unit_ == mllog::PositionUnit::kSteps && batch_) return *position * *batch_;
    if (unit_ == mllog::PositionUnit::kTokens && tokens_ > 0.0) return *position / tokens_;
    return std::nullopt;
  }
  /// False for a number of samples below one batch: no run is evaluated before its first step.
  bool is_possible(double position) const {
    return unit_ != mllog::PositionUnit::kSamples || !batch_ || position >= *batch_;
  }
  std::optional<double> of_stop(const Position& stop) const {
    if (stop.samples_count) return stop.samples_count;
    if (stop.step_num && batch_) return *stop.step_num * *batch_;
    return std::nullopt;
  }

 private:
  mllog::PositionUnit unit_;
  std::optional<double> batch_;
  double tokens_;
};

/// The largest position of evaluations and epoch stops inside the run.
std::optional<double> farthest(const ParsedLog& log, const RunIntervals& intervals,
                               const RunFacts& facts) {
  std::optional<double> most;
  const auto take = [&](double position) { most = std::max(most.value_or(position), position); };
  const Window& window = intervals.window;
  for (const Evaluation& one : facts.evaluations) {
    if (one.position) take(*one.position);
  }
  if (facts.position_key != keys::kEpochNum) return most;
  for (const Mark& stop : log.all(keys::kEpochStop)) {
    if (!stop.label || stop.time_ms < window.begin_ms || stop.time_ms > window.end_ms) continue;
    take(*stop.label);
  }
  return most;
}

/// For logs whose positions count samples, tokens or steps.
void count_samples(const ParsedLog& log, const RunIntervals& intervals, const RunFacts& facts,
                   const mllog::EvaluationFacts* rules, std::optional<double> train_samples,
                   RunProgress& progress) {
  const SampleCount samples(facts, rules);
  std::optional<double> most = farthest(log, intervals, facts);
  if (most && !samples.is_possible(*most)) {
    progress.note = facts.position_key + " is below one global batch: it counts no samples";
    return;
  }
  if (facts.position_key == keys::kEpochNum) {
    const char* const unit =
        *facts.position_unit == mllog::PositionUnit::kTokens ? "token" : "sample";
    progress.note = fmt::format("epoch_num is a {} count", unit);
  }
  progress.samples_run = samples.of(most);
  if (const auto samples_at_stop = samples.of_stop(log.stopped_at))
    progress.samples_run = samples_at_stop;
  if (facts.at_target) {
    progress.samples_to_target = samples.of(facts.evaluations[*facts.at_target].position);
  }
  if (!train_samples || *train_samples <= 0.0 || logs_samples_consumed(log, facts)) return;
  if (progress.samples_run) progress.epochs_run = *progress.samples_run / *train_samples;
  if (progress.samples_to_target) {
    progress.epochs_to_target = *progress.samples_to_target / *train_samples;
  }
}

void samples_from_epochs(const ParsedLog& log, const RunFacts& facts,
                         std::optional<double> train_samples, RunProgress& progress) {
  if (!train_samples) return;
  const bool consumed =
      facts.position_unit == mllog::PositionUnit::kPasses && logs_samples_consumed(log, facts);
  if (consumed) {
    progress.note = "train_samples logged at the end = samples consumed";
    if (progress.epochs_run) progress.samples_run = train_samples;
    if (progress.epochs_to_target) progress.samples_to_target = train_samples;
    return;
  }
  if (progress.epochs_run) progress.samples_run = *progress.epochs_run * *train_samples;
  if (progress.epochs_to_target) {
    progress.samples_to_target = *progress.epochs_to_target * *train_samples;
  }
}

}  // namespace

RunIntervals intervals_of(const ParsedLog& log, const Window& window) {
  RunIntervals result;
  result.window = window;
  result.blocks = log.all(keys::kEpochStart).empty();
  const char* start = result.blocks ? keys::kBlockStart : keys::kEpochStart;
  const char* stop = result.blocks ? keys::kBlockStop : keys::kEpochStop;
  const bool has_stops = result.blocks || !log.all(stop).empty();
  result.epochs =
      pair_marks(log.all(start), has_stops ? log.all(stop) : implied_stops(log.all(start)), window);
  result.has_epochs = !log.all(start).empty() &&
                      (has_stops || !are_late(log.all(start), log.all(keys::kEvalStart)));
  result.evaluations = pair_marks(log.all(keys::kEvalStart), log.all(keys::kEvalStop), window);
  result.has_evaluations = !log.all(keys::kEvalStart).empty();
  result.saves = pair_marks(log.all(keys::kSaveStart), log.all(keys::kSaveStop), window);
  result.has_saves = !log.all(keys::kSaveStart).empty();
  pair_staging(log, window, result);
  return result;
}

RunParts parts_of(const RunIntervals& intervals, const Window& window, TrainedIn trained_in) {
  RunParts parts;
  const double epoch_ms = covered_ms(intervals.epochs);
  const double eval_ms = covered_ms(intervals.evaluations);
  const double both_ms = shared_ms(intervals.epochs, intervals.evaluations);
  if (intervals.has_staging) {
    parts.staging_s = intervals.staging_ms / base::kMsPerSecond;
    parts.staging_in_run_s = covered_ms(intervals.staging) / base::kMsPerSecond;
  }
  if (intervals.has_evaluations) {
    parts.eval_s = eval_ms / base::kMsPerSecond;
    parts.eval_in_epoch_s = both_ms / base::kMsPerSecond;
  }
  if (intervals.has_saves) parts.save_s = covered_ms(intervals.saves) / base::kMsPerSecond;
  parts.async_eval = is_async(intervals, eval_ms);
  const bool has_blocks = intervals.blocks && !intervals.epochs.empty();
  if (intervals.has_epochs || (trained_in == TrainedIn::kEpochsOrBlocks && has_blocks)) {
    parts.epoch_s = epoch_ms / base::kMsPerSecond;
    if (!parts.async_eval) parts.train_s = (epoch_ms - both_ms) / base::kMsPerSecond;
  }
  Intervals all = intervals.epochs;
  all.insert(all.end(), intervals.evaluations.begin(), intervals.evaluations.end());
  parts.staging_beside_s = shared_ms(intervals.staging, all) / base::kMsPerSecond;
  all.insert(all.end(), intervals.staging.begin(), intervals.staging.end());
  parts.other_s = (window.end_ms - window.begin_ms - covered_ms(all)) / base::kMsPerSecond;
  return parts;
}

RunProgress progress_of(const ParsedLog& log, const RunIntervals& intervals, const RunFacts& facts,
                        const mllog::EvaluationFacts* rules) {
  RunProgress progress;
  const std::optional<double> train_samples = number(facts.config_value(keys::kTrainSamples));
  if (!facts.position_unit) {
    progress.note = "what epoch_num counts in logs of this benchmark is not known here";
    return progress;
  }
  switch (*facts.position_unit) {
    case mllog::PositionUnit::kSamples:
    case mllog::PositionUnit::kTokens:
    case mllog::PositionUnit::kSteps:
      count_samples(log, intervals, facts, rules, train_samples, progress);
      return progress;
    case mllog::PositionUnit::kPasses:
      count_fractions(log, intervals, facts, progress);
      break;
    case mllog::PositionUnit::kEpochs:
      if (intervals.blocks) {
        count_blocks(intervals, facts, progress);
      } else {
        count_epochs(intervals, facts, progress);
      }
      break;
  }
  samples_from_epochs(log, facts, train_samples, progress);
  return progress;
}

}  // namespace analysis
