// One log, read once.
// Hides which records matter and how damaged ones are told.
#include "analysis/log_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>

#include "runner/base/error.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
namespace keys = mllog::keys;
/// No run since 1973 has smaller times, no clock that starts with the program larger ones.
constexpr double kClockLimitMs = 1e11;
/// Damaged lines told one by one; the rest is counted.
constexpr std::int64_t kToldMalformed = 20;

constexpr char kQualityTarget[] = "quality_target";
constexpr std::array kMarks = {
    keys::kInitStart,   keys::kInitStop,   keys::kRunStart,  keys::kRunStop,    keys::kStagingStart,
    keys::kStagingStop, keys::kBlockStart, keys::kBlockStop, keys::kEpochStart, keys::kEpochStop,
    keys::kEvalStart,   keys::kEvalStop,   keys::kSaveStart, keys::kSaveStop};
/// Logged once by a careful program; repetition is a fact worth telling.
constexpr std::array kOneTime = {keys::kCacheClear, keys::kInitStart, keys::kInitStop,
                                 keys::kRunStart, keys::kRunStop};

/// A finite number; true and false are none.
std::optional<double> finite(mllog::JsonText value) {
  const std::optional<double> number = value.number();
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Collects the records of one log.
class Collector {
 public:
  explicit Collector(ParsedLog& log) : log_(log) {}

  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  void finish(const mllog::RecordReader& reader);

 private:
  void note_time(double time_ms);
  void note_config(const mllog::Record& record);
  void note_mark(const mllog::Record& record);
  void note_sample(const mllog::Record& record);
  void note_target(const mllog::Record& record);
  void note_not_finite(const mllog::Record& record);
  Sample sample_of(const mllog::Record& record, double value) const;
  void tell(Finding::Severity severity, std::int64_t line, std::int64_t column,
            const std::string& text) {
    log_.findings.push_back({severity, line, column, text, {}});
  }

  struct NotFinite {
    std::int64_t line = 0, column = 0, count = 0;
  };
  ParsedLog& log_;
  std::int64_t order_ = 0;
  std::optional<double> previous_ms_;
  std::map<std::string, NotFinite> not_finite_;
};

void Collector::add(const mllog::Record& record) {
  note_time(record.time_ms);
  note_config(record);
  note_mark(record);
  note_sample(record);
  note_target(record);
  note_not_finite(record);
  const bool one_time = std::find(kOneTime.begin(), kOneTime.end(), record.key) != kOneTime.end();
  if (one_time) ++log_.counts[std::string(record.key)];
  if (record.key == keys::kResumed && record.value.text() != "false") log_.resumed = true;
  ++order_;
}

void Collector::add(const mllog::MalformedRecord& record) {
  if (++log_.malformed_records > kToldMalformed) return;
  tell(Finding::Severity::kError, record.line, record.column, "malformed record: " + record.reason);
}

void Collector::note_time(double time_ms) {
  if (previous_ms_ && time_ms < *previous_ms_) {
    ++log_.time_reversals;
    log_.max_reversal_ms = std::max(log_.max_reversal_ms, *previous_ms_ - time_ms);
  }
  previous_ms_ = time_ms;
  log_.largest_time_ms = order_ == 0 ? time_ms : std::max(log_.largest_time_ms, time_ms);
  log_.has_small_times = log_.has_small_times || time_ms < kClockLimitMs;
  log_.has_large_times = log_.has_large_times || time_ms > kClockLimitMs;
}

void Collector::note_config(const mllog::Record& record) {
  const std::vector<std::string>& known = config_keys();
  if (std::find(known.begin(), known.end(), record.key) == known.end()) return;
  ++log_.counts[std::string(record.key)];
  const Value value = value_of(record.value.decoded());
  const auto [place, is_new] =
      log_.config.emplace(std::string(record.key), ConfigValue{value, order_, {}});
  ConfigValue& held = place->second;
  if (is_new || value == held.first) return;
  if (std::find(held.others.begin(), held.others.end(), value) == held.others.end()) {
    held.others.push_back(value);
  }
}

void Collector::note_mark(const mllog::Record& record) {
  if (std::find(kMarks.begin(), kMarks.end(), record.key) == kMarks.end()) return;
  const bool is_block = record.key == keys::kBlockStart || record.key == keys::kBlockStop;
  const std::string_view label = is_block ? keys::kFirstEpochNum : keys::kEpochNum;
  std::vector<Mark>& marks = log_.marks[std::string(record.key)];
  marks.push_back({record.time_ms, finite(record.metadata.member(label)), order_,
                   finite(record.metadata.member(keys::kEpochCount))});
  if (record.key != keys::kRunStop || marks.size() > 1) return;
  const mllog::JsonText status = record.metadata.member(keys::kStatus);
  if (!status.is_absent()) log_.status = value_of(status.decoded());
}

Sample Collector::sample_of(const mllog::Record& record, double value) const {
  return {record.time_ms, order_, finite(record.metadata.member(keys::kEpochNum)), value};
}

void Collector::note_sample(const mllog::Record& record) {
  const mllog::JsonText value = record.value;
  if (record.key == keys::kEvalAccuracy || record.key == keys::kEvalError) {
    if (const auto quality = value.number()) {  // a NaN is an evaluation too
      log_.evaluations[std::string(record.key)].push_back(sample_of(record, *quality));
    } else {
      tell(Finding::Severity::kError, record.line, record.column,
           fmt::format("{}: expected a number, found {}", record.key, value.decoded().type_name()));
    }
  } else if (record.key == keys::kThroughput) {
    if (const auto rate = finite(value)) log_.throughputs.push_back(sample_of(record, *rate));
  } else if (record.key == keys::kTrackedStats) {
    if (const auto rate = finite(value.member(keys::kThroughput)))
      log_.throughputs.push_back(sample_of(record, *rate));
  }
}

void Collector::note_target(const mllog::Record& record) {
  if (record.key != kQualityTarget || log_.own_target) return;
  const std::optional<double> value = finite(record.value);
  const std::optional<std::string> direction = record.metadata.member("direction").string();
  const bool falls = direction == "falls", rises = direction == "rises";
  if (!value || (!falls && !rises)) {
    tell(Finding::Severity::kError, record.line, record.column,
         "quality_target: expected a number with metadata direction (rises or falls)");
    return;
  }
  // The record does not spell the metric's key: the RCP checker would take it for an evaluation.
  log_.own_target = falls
                        ? QualityTarget{mllog::keys::kEvalError, Direction::kFalls, value, true}
                        : QualityTarget{mllog::keys::kEvalAccuracy, Direction::kRises, value, true};
}

void Collector::note_not_finite(const mllog::Record& record) {
  const std::optional<double> value = record.value.number();
  if (!value || std::isfinite(*value)) return;
  NotFinite& seen = not_finite_[std::string(record.key)];
  if (seen.count++ == 0) {
    seen.line = record.line;
    seen.column = record.column;
  }
}

void Collector::finish(const mllog::RecordReader& reader) {
  using enum Finding::Severity;
  log_.bytes = reader.bytes();
  log_.records = reader.records();
  log_.other_lines = reader.other_lines();
  if (log_.malformed_records > kToldMalformed) {
    tell(kError, 0, 0,
         fmt::format("{} more malformed records", log_.malformed_records - kToldMalformed));
  }
  if (reader.swallowed_records() > 0) {
    tell(kError, 0, 0,
         fmt::format("{} records are lost: another one follows on the same line",
                     reader.swallowed_records()));
  }
  for (const auto& [key, seen] : not_finite_) {
    tell(kWarning, seen.line, seen.column,
         fmt::format("{} is not finite in {} records, first here", key, seen.count));
  }
  if (log_.records > 0) return;
  if (reader.old_format_lines() > 0) {
    tell(kError, 0, 0,
         fmt::format("no MLLOG record, but {} lines of the formats before v0.7 (':::MLL ', "
                     "':::MLPv0.5'), which are not read",
                     reader.old_format_lines()));
  } else {
    tell(kError, 0, 0,
         fmt::format("expected lines with ':::MLLOG ', found none in {} lines", reader.lines()));
  }
}

}  // namespace

const Mark* ParsedLog::first(const std::string& key) const {
  const std::vector<Mark>& of_key = all(key);
  return of_key.empty() ? nullptr : &of_key.front();
}

const std::vector<Mark>& ParsedLog::all(const std::string& key) const {
  static const std::vector<Mark> none;
  const auto found = marks.find(key);
  return found == marks.end() ? none : found->second;
}

const std::vector<std::string>& config_keys() {
  static const std::vector<std::string> known = {keys::kSubmissionBenchmark,
                                                 keys::kSubmissionOrg,
                                                 keys::kSubmissionDivision,
                                                 keys::kSubmissionStatus,
                                                 keys::kSubmissionPlatform,
                                                 keys::kGlobalBatchSize,
                                                 keys::kTrainSamples,
                                                 keys::kEvalSamples,
                                                 keys::kSeed,
                                                 keys::kNumberOfNodes,
                                                 keys::kAcceleratorsPerNode,
                                                 keys::kNumberOfRanks,
                                                 keys::kOptName};
  return known;
}

ParsedLog parse_log(std::istream& in) {
  ParsedLog log;
  mllog::RecordReader reader(in);
  Collector collector(log);
  while (const std::optional<mllog::LogItem> item = reader.next()) {
    std::visit([&](const auto& one) { collector.add(one); }, *item);
  }
  collector.finish(reader);
  return log;
}

ParsedLog parse_log(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    throw base::SystemError(path.string() + ": expected a regular file");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw base::system_error(path.string() + ": cannot be opened", errno);
  return parse_log(in);
}

}  // namespace analysis
