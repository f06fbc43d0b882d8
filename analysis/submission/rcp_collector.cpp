// Collects from the records of a log what the RCP test needs.
#include "analysis/submission/rcp_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "analysis/submission/package_rules.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis::submission {
namespace {

namespace keys = mllog::keys;

/// Which of the words that the official checker searches for occur in a record.
struct Mentions {
  bool batch_size = false, benchmark = false, evaluation = false;
};

/// Whether `text` contains `key` with its first underscore at `underline`.
bool stands_at(std::string_view key, std::string_view text, std::size_t underline) {
  const std::size_t before = key.find('_');
  return underline >= before && text.substr(underline - before).starts_with(key);
}

/// Looks at underscores only, which are rare, because this runs for every record of a log.
void find_mentions(std::string_view text, Mentions& found) {
  for (std::size_t at = text.find('_'); at != std::string_view::npos; at = text.find('_', at + 1)) {
    found.batch_size = found.batch_size || stands_at(keys::kGlobalBatchSize, text, at);
    found.benchmark = found.benchmark || stands_at(keys::kSubmissionBenchmark, text, at);
    found.evaluation = found.evaluation || stands_at(keys::kEvalError, text, at) ||
                       stands_at(keys::kEvalAccuracy, text, at);
  }
}

/// Rounded to 3 decimals as Python does it: the exact value of the double, halves to even.
double rounded(double value) {
  const std::string text = fmt::format("{:.3f}", value);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

std::optional<double> finite(const mllog::JsonText& text) {
  const std::optional<double> value = text.number();
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

RcpRun RcpCollector::run() const { return run_; }

void RcpCollector::add_finding(Oddity oddity, const mllog::Record& record,
                               const std::string& text) {
  if (!reported_.insert(oddity).second) return;
  run_.findings.push_back(package_finding("rcp.odd-record", text, record.line, record.column));
}

void RcpCollector::add(const mllog::Record& record) {
  Mentions mentions;
  find_mentions(record.key, mentions);
  find_mentions(record.value.text(), mentions);
  find_mentions(record.metadata.text(), mentions);
  if (mentions.batch_size) note_batch_size(record);
  if (mentions.benchmark) note_benchmark(record);
  if (mentions.evaluation) note_evaluation(record);
  if (record.key == keys::kRunStop) note_stop(record);
}

void RcpCollector::note_benchmark(const mllog::Record& record) {
  const std::optional<std::string> name = record.value.string();
  if (!name) return;
  run_.benchmark = *name;
  const mllog::Benchmark* const known = mllog::find_benchmark(*name);
  facts_ = known ? &known->evaluation(round_) : nullptr;
}

void RcpCollector::note_stop(const mllog::Record& record) {
  run_.succeeded = record.metadata.member(keys::kStatus).string() == "success";
  run_.converged_after.reset();
  if (!run_.succeeded) return;
  run_.converged_after = has_parts_apart() ? first_position_that_meets_all() : last_position_;
  if (has_parts_apart() && !run_.converged_after) {
    add_finding(Oddity::kNotMet, record,
                fmt::format("run_stop has status success, but at no {} is the target met: {}",
                            facts_->position, facts_->target.words()));
  }
}

bool RcpCollector::has_parts_apart() const {
  return facts_ != nullptr && !facts_->target.main().metric.empty();
}

std::optional<double> RcpCollector::first_position_that_meets_all() const {
  for (const auto& [position, by_metric] : qualities_) {
    const bool all_met = std::ranges::all_of(facts_->target.parts, [&](const auto& part) {
      const auto found = by_metric.find(part.metric);
      return found != by_metric.end() && part.met_by(found->second);
    });
    if (all_met) return position;
  }
  return std::nullopt;
}

void RcpCollector::note_batch_size(const mllog::Record& record) {
  const std::optional<double> value = finite(record.value);
  if (!value) return;
  const bool changes = run_.batch_size != value;
  if (record.key != keys::kGlobalBatchSize && changes) {
    add_finding(
        Oddity::kBatchSize, record,
        fmt::format("{} mentions global_batch_size: the official RCP checker takes its value {} "
                    "for the batch size",
                    record.key, *value));
  }
  run_.batch_size = value;
}

void RcpCollector::note_evaluation(const mllog::Record& record) {
  const std::string member = facts_ ? facts_->position : keys::kEpochNum;
  std::optional<double> position = finite(record.metadata.member(member));
  const bool is_evaluation = record.key == keys::kEvalError || record.key == keys::kEvalAccuracy;
  if (!position) {
    if (is_evaluation) {
      add_finding(Oddity::kNoPosition, record,
                  fmt::format("{} has no number as {}", record.key, member));
    }
    return;
  }
  if (member == keys::kEpochNum) position = rounded(*position);
  if (!is_evaluation && last_position_ != position) {
    add_finding(
        Oddity::kEvaluation, record,
        fmt::format("{} mentions an evaluation: the official RCP checker takes its {} {} for that "
                    "of one",
                    record.key, member, *position));
  }
  last_position_ = position;
  if (!has_parts_apart()) return;
  const std::optional<std::string> metric = record.metadata.member(keys::kMetric).string();
  const std::optional<double> quality = finite(record.value);
  if (metric && quality) qualities_[*position][*metric] = *quality;
}

}  // namespace analysis::submission
