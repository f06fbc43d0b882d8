// What the test against reference convergence points needs of one log, record by record.
// Hides which records the official checker looks at.
#include "analysis/rcp_collector.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool mentions(const mllog::Record& record, std::string_view word) {
  return holds(record.key, word) || holds(record.value.text(), word) ||
         holds(record.metadata.text(), word);
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

void RcpCollector::tell(Oddity oddity, const mllog::Record& record, const std::string& text) {
  if (!told_.insert(oddity).second) return;
  run_.findings.push_back(
      {mllog::Finding::Severity::kWarning, record.line, record.column, text, "rcp.odd-record"});
}

void RcpCollector::add(const mllog::Record& record) {
  if (mentions(record, keys::kGlobalBatchSize)) note_batch_size(record);
  if (mentions(record, keys::kSubmissionBenchmark)) {
    if (const auto name = record.value.string()) run_.benchmark = *name;
  }
  if (mentions(record, keys::kEvalError) || mentions(record, keys::kEvalAccuracy)) {
    note_evaluation(record);
  }
  if (record.key != keys::kRunStop) return;
  const bool success = record.metadata.member(keys::kStatus).string() == "success";
  run_.converged_after = success ? last_epoch_ : std::nullopt;
}

void RcpCollector::note_batch_size(const mllog::Record& record) {
  const std::optional<double> value = finite(record.value);
  if (!value) return;
  const bool changes = run_.batch_size != value;
  if (record.key != keys::kGlobalBatchSize && changes) {
    tell(Oddity::kBatchSize, record,
         fmt::format("{} mentions global_batch_size: the official RCP checker takes its value {} "
                     "for the batch size",
                     record.key, *value));
  }
  run_.batch_size = value;
}

void RcpCollector::note_evaluation(const mllog::Record& record) {
  const std::optional<double> epoch = finite(record.metadata.member(keys::kEpochNum));
  const bool is_evaluation = record.key == keys::kEvalError || record.key == keys::kEvalAccuracy;
  if (!epoch) {
    if (is_evaluation) {
      tell(Oddity::kNoEpoch, record, fmt::format("{} has no number as epoch_num", record.key));
    }
    return;
  }
  if (!is_evaluation && last_epoch_ != rounded(*epoch)) {
    tell(Oddity::kEvaluation, record,
         fmt::format("{} mentions an evaluation: the official RCP checker takes its epoch_num {} "
                     "for that of one",
                     record.key, *epoch));
  }
  last_epoch_ = rounded(*epoch);
}

}  // namespace analysis
