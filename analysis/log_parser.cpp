// The content of one log, collected in one pass.
#include "analysis/log_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/key_roles.h"
#include "analysis/log_clocks.h"
#include "analysis/seed_record.h"
#include "runner/base/file_format.h"
#include "runner/base/printable.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis {
namespace {

namespace keys = mllog::keys;

/// Damaged lines that are reported one by one; further ones are counted.
constexpr std::int64_t kToldMalformed = 20;
/// Keys with values that are not finite reported one by one; further keys share one finding.
constexpr std::size_t kToldKeys = 64;
/// Longer values of settings are not kept.
constexpr std::size_t kLongestSetting = 4096;
/// Bytes of a value that a finding shows.
constexpr std::size_t kShownBytes = 60;
/// Seeds kept per log; each rank may log its own.
constexpr std::size_t kKeptSeeds = 16;
constexpr char kFurtherKeys[] = "(further keys)";

Place place_of(const mllog::Record& record) { return {record.line, record.column}; }

void count(Tally& tally, const mllog::Record& record, std::string_view what = {}) {
  if (tally.count++ > 0) return;
  tally.first = place_of(record);
  tally.what = what;
}

/// The value as a finite number; absent for anything else, including true and false.
std::optional<double> finite(mllog::JsonText value) {
  const std::optional<double> number = value.number();
  return number && std::isfinite(*number) ? number : std::nullopt;
}

Position position_of(const mllog::Record& record) {
  return {finite(record.metadata.member(keys::kEpochNum)),
          finite(record.metadata.member(keys::kSamplesCount)),
          finite(record.metadata.member(keys::kStepNum))};
}

}  // namespace

class LogCollector::Work {
 public:
  explicit Work(const mllog::RecordReader& reader) : reader_(reader), kept_(role_count()) {}

  void add(const mllog::Record& record);
  void add(const mllog::MalformedRecord& record);
  /// Notes the records that the reader lost up to the line at `place`.
  void note_swallowed(Place place);
  void finish();
  ParsedLog take_log() { return std::move(log_); }

 private:
  /// Entries of log_ for one key; null before its first record.
  struct Kept {
    std::int64_t* count = nullptr;
    ConfigValue* config = nullptr;
    Setting* setting = nullptr;
    std::vector<Mark>* marks = nullptr;
    std::vector<Sample>* samples = nullptr;
  };
  /// The entry of `key` in a map of log_, cached in `place`.
  template <class Value>
  Value& at(std::map<std::string, Value>& map, Value*& place, std::string_view key) {
    if (place == nullptr) place = &map[std::string(key)];
    return *place;
  }

  void note_time(const mllog::Record& record);
  void note_fault(const mllog::Record& record);
  void note_form(const mllog::Record& record, const KeyRole* role);
  void note_config(const mllog::Record& record, Kept& kept);
  void note_setting(const mllog::Record& record, Kept& kept);
  void note_seed(const mllog::Record& record);
  void note_mark(const mllog::Record& record, const KeyRole& role, Kept& kept);
  void note_run_stop(const mllog::Record& record);
  void note_metric(const mllog::Record& record, Kept& kept);
  void note_throughput(const mllog::Record& record);
  void note_target(const mllog::Record& record);
  void note_not_finite(const mllog::Record& record);
  void note_number(const mllog::Record& record, std::string_view label,
                   const std::optional<double>& number);
  Sample sample_of(const mllog::Record& record) const;
  void add_finding(Rule rule, Place place, const std::string& text) {
    log_.findings.push_back(make_finding(rule, place, text));
  }

  const mllog::RecordReader& reader_;
  ParsedLog log_;
  std::vector<Kept> kept_;  ///< by KeyRole::index
  std::int64_t order_ = 0;
  std::optional<double> previous_ms_;
  std::int64_t swallowed_ = 0, faulty_ = 0;
  Place swallowed_place_;
};

void LogCollector::Work::add(const mllog::Record& record) {
  const KeyRole* const role = role_of(record.key);
  log_.format = record.format;
  if (record.has_time) note_time(record);
  if (!record.fault.empty()) note_fault(record);
  note_form(record, role);
  if (role) {
    Kept& kept = kept_[role->index];
    if (role->config) note_config(record, kept);
    if (record.key == keys::kSeed) note_seed(record);
    if (role->setting) note_setting(record, kept);
    if (role->mark) note_mark(record, *role, kept);
    if (role->metric) note_metric(record, kept);
    if (role->one_time && ++at(log_.counts, kept.count, record.key) == 2) {
      log_.oddities.repeats[std::string(record.key)] = place_of(record);
    }
  } else {
    note_throughput(record);
    note_target(record);
    if (record.key == keys::kResumed && record.value.text() != "false") {
      log_.resumed = true;
      log_.resumed_from = record.metadata.member(keys::kCheckpoint).string().value_or("");
    }
  }
  note_not_finite(record);
  ++order_;
}

void LogCollector::Work::add(const mllog::MalformedRecord& record) {
  if (++log_.malformed_records > kToldMalformed) return;
  add_finding(Rule::kMalformedRecord, {record.line, record.column},
              "malformed record: " + record.reason);
}

/// Reports a record that this reader accepts but others refuse.
void LogCollector::Work::note_fault(const mllog::Record& record) {
  if (++faulty_ > kToldMalformed) return;
  add_finding(Rule::kLooseRecord, place_of(record), "read, but " + std::string(record.fault));
}

void LogCollector::Work::note_swallowed(Place place) {
  const std::int64_t so_far = reader_.swallowed_records();
  if (so_far == swallowed_) return;
  if (swallowed_ == 0) swallowed_place_ = place;
  swallowed_ = so_far;
}

void LogCollector::Work::note_time(const mllog::Record& record) {
  const double time_ms = record.time_ms;
  if (previous_ms_ && time_ms < *previous_ms_) {
    ++log_.time_reversals;
    if (*previous_ms_ - time_ms > log_.max_reversal_ms) {
      log_.max_reversal_ms = *previous_ms_ - time_ms;
      log_.oddities.largest_reversal = place_of(record);
    }
  }
  log_.largest_time_ms = previous_ms_ ? std::max(log_.largest_time_ms, time_ms) : time_ms;
  previous_ms_ = time_ms;
  LogOddities& odd = log_.oddities;
  const TimeRange range = range_of(time_ms);
  Place& first = range == TimeRange::kSmall   ? odd.small_time
                 : range == TimeRange::kLarge ? odd.large_time
                                              : odd.calendar_time;
  if (first.line == 0) first = place_of(record);
  if (mllog::is_date(time_ms) && !log_.first_date_ms) log_.first_date_ms = time_ms;
  if (time_ms <= 0.0) count(log_.oddities.zero_times, record);
}

/// Counts odd event types, and metadata that is not an object.
void LogCollector::Work::note_form(const mllog::Record& record, const KeyRole* role) {
  const std::string_view type = record.event_type.value_or("");
  const bool is_expected = role && type == role->event_type;
  if (!is_expected && !is_event_type(type)) {
    count(log_.oddities.no_event_type, record, record.event_type ? type : "none");
  } else if (role && !is_expected) {
    count(log_.oddities.wrong_event_types[std::string(record.key)], record, type);
  }
  if (!record.repeated.empty()) {
    count(log_.oddities.repeated_members[std::string(record.key)], record, record.repeated);
  }
  if (!record.metadata.is_object()) {
    count(log_.oddities.odd_metadata, record,
          record.metadata.is_absent() ? "none" : record.metadata.text().substr(0, kShownBytes));
  }
}

void LogCollector::Work::note_config(const mllog::Record& record, Kept& kept) {
  ++at(log_.counts, kept.count, record.key);
  if (kept.config == nullptr) {
    at(log_.config, kept.config, record.key) = {value_of(record.value.decoded()), order_, {}};
    return;
  }
  // Compares with the text of the first value, if that was short enough to be kept.
  const bool is_first = kept.setting && record.value.text() == kept.setting->json;
  if (is_first && !record.value.is_absent()) return;
  const Value value = value_of(record.value.decoded());
  std::vector<Value>& others = kept.config->others;
  if (value == kept.config->first) return;
  if (std::find(others.begin(), others.end(), value) == others.end()) others.push_back(value);
}

void LogCollector::Work::note_setting(const mllog::Record& record, Kept& kept) {
  const std::string_view text = record.value.text();
  Setting& setting = at(log_.oddities.settings, kept.setting, record.key);
  if (++setting.count == 1) {
    setting.place = place_of(record);
    if (text.size() <= kLongestSetting) setting.json = text;
    return;
  }
  if (setting.count == 2) setting.again = place_of(record);
  if (text == setting.json || setting.json.empty() || !setting.other_json.empty()) return;
  if (text.empty() || text.size() > kLongestSetting) return;
  // 1 and 1.0 are the same value.
  if (record.value.decoded() == mllog::JsonText(setting.json).decoded()) return;
  setting.other_json = text;
  setting.other_place = place_of(record);
}

void LogCollector::Work::note_seed(const mllog::Record& record) {
  if (log_.seeds.size() == kKeptSeeds) return;
  const SeedRecord seed = seed_record(record);
  if (!seed.problem.empty()) return;
  std::string text = seed.seed + " at " + seed.place;
  if (std::ranges::find(log_.seeds, text) == log_.seeds.end()) {
    log_.seeds.push_back(std::move(text));
  }
}

void LogCollector::Work::note_mark(const mllog::Record& record, const KeyRole& role, Kept& kept) {
  const bool is_block = role.label == keys::kFirstEpochNum;
  const std::optional<double> number = finite(record.metadata.member(role.label));
  std::optional<double> epochs;
  if (is_block) epochs = finite(record.metadata.member(keys::kEpochCount));
  std::vector<Mark>& marks = at(log_.marks, kept.marks, record.key);
  marks.push_back({record.time_ms, number, order_, epochs, record.line, record.column});
  if (role.numbered) note_number(record, role.label, number);
  if (record.key == keys::kRunStop && marks.size() == 1) note_run_stop(record);
  if (record.key == keys::kStagingStop && log_.staging.sets.empty()) {
    log_.staging = staged_sets(record.metadata.member("staging"));
    log_.oddities.staging = place_of(record);
  }
}

void LogCollector::Work::note_run_stop(const mllog::Record& record) {
  const mllog::JsonText status = record.metadata.member(keys::kStatus);
  if (!status.is_absent()) log_.status = value_of(status.decoded());
  log_.stopped_at = position_of(record);
  if (!record.value.is_null()) {
    log_.oddities.run_stop_value = record.value.text().substr(0, kShownBytes);
  }
}

/// Counts a record without epoch number. Later rounds allow a step or a number of samples instead.
void LogCollector::Work::note_number(const mllog::Record& record, std::string_view label,
                                     const std::optional<double>& number) {
  if (number || !record.metadata.member(keys::kStepNum).is_absent() ||
      !record.metadata.member(keys::kSamplesCount).is_absent()) {
    return;
  }
  count(log_.oddities.without_epoch_num[std::string(record.key)], record, label);
}

Sample LogCollector::Work::sample_of(const mllog::Record& record) const {
  Sample sample;
  sample.time_ms = record.time_ms;
  sample.order = order_;
  sample.position = position_of(record);
  sample.metric = record.metadata.member(keys::kMetric).string().value_or("");
  sample.place = place_of(record);
  sample.value = record.value.number();  // a NaN is an evaluation too
  if (sample.value || !record.value.is_object()) return sample;
  const nlohmann::json object = record.value.decoded();
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) sample.members.emplace_back(name, value.get<double>());
  }
  return sample;
}

void LogCollector::Work::note_metric(const mllog::Record& record, Kept& kept) {
  Sample sample = sample_of(record);
  if (!sample.value && sample.members.empty()) {
    count(log_.oddities.odd_metrics[std::string(record.key)], record,
          record.value.decoded().type_name());
    return;
  }
  if (!sample.value) count(log_.oddities.object_metrics[std::string(record.key)], record);
  note_number(record, keys::kEpochNum, sample.position.epoch_num);
  if (!record.metadata.member(keys::kStepNum).is_absent()) {
    log_.oddities.evaluations_by_step = true;
  }
  at(log_.evaluations, kept.samples, record.key).push_back(std::move(sample));
}

void LogCollector::Work::note_throughput(const mllog::Record& record) {
  mllog::JsonText rate;
  if (record.key == keys::kThroughput) rate = record.value;
  if (record.key == keys::kTrackedStats) rate = record.value.member(keys::kThroughput);
  const std::optional<double> value = finite(rate);
  if (!value) return;
  if (log_.throughputs.empty()) log_.first_throughput = place_of(record);
  log_.throughputs.push_back({record.time_ms, *value});
}

void LogCollector::Work::note_target(const mllog::Record& record) {
  if (record.key != keys::kQualityTarget || log_.own_target) return;
  const std::optional<double> value = finite(record.value);
  const auto direction = record.metadata.member(keys::kDirection).string();
  const bool falls = direction == "falls", rises = direction == "rises";
  if (!value || (!falls && !rises)) {
    add_finding(Rule::kOwnTargetDamaged, place_of(record),
                "quality_target: expected a number with metadata direction (rises or falls)");
    return;
  }
  // The record does not spell the metric's key: the RCP checker would take it for an evaluation.
  mllog::TargetPart part;
  part.direction = falls ? mllog::Direction::kFalls : mllog::Direction::kRises;
  part.value = *value;
  log_.own_target = {falls ? keys::kEvalError : keys::kEvalAccuracy, {part}};
}

void LogCollector::Work::note_not_finite(const mllog::Record& record) {
  // Only numbers written with a letter (NaN, Infinity, 1e999) can be not finite.
  const std::string_view text = record.value.text();
  const auto is_letter = [](char c) { return c >= 'A'; };
  if (!record.value.is_number() || std::none_of(text.begin(), text.end(), is_letter)) return;
  const std::optional<double> value = record.value.number();
  if (!value || std::isfinite(*value)) return;
  std::map<std::string, Tally>& seen = log_.oddities.not_finite;
  const bool has_room = seen.size() < kToldKeys || seen.contains(std::string(record.key));
  count(seen[has_room ? std::string(record.key) : kFurtherKeys], record, text);
}

void LogCollector::Work::finish() {
  const LogOddities& odd = log_.oddities;
  LogClocks clocks = judge_clocks(odd.small_time.line > 0, odd.calendar_time.line > 0,
                                  odd.large_time.line > 0, log_.largest_time_ms);
  log_.mixed_clocks = clocks.mixed;
  log_.other_unit = std::move(clocks.other_unit);
  log_.bytes = reader_.bytes();
  log_.records = reader_.records();
  log_.items = order_;
  log_.other_lines = reader_.other_lines();
  if (log_.malformed_records > kToldMalformed) {
    add_finding(Rule::kMalformedRecord, {},
                fmt::format("{} more malformed records", log_.malformed_records - kToldMalformed));
  }
  if (faulty_ > kToldMalformed) {
    add_finding(Rule::kLooseRecord, {},
                fmt::format("{} more records that are not JSON", faulty_ - kToldMalformed));
  }
  if (swallowed_ > 0) {
    add_finding(Rule::kSwallowedRecord, swallowed_place_,
                fmt::format("{} records are lost: another one follows on the same line, first here",
                            swallowed_));
  }
  for (const auto& [key, seen] : odd.not_finite) {
    const std::string records = base::counted(seen.count, "record");
    add_finding(Rule::kValueNotFinite, seen.first,
                key + " is not finite in " + records + ", first here");
  }
  if (log_.records > 0) return;
  const std::string format = base::format_in_words(std::as_bytes(std::span(reader_.begin())));
  const bool is_text = format.empty() || format == "text" || reader_.bytes() == 0;
  add_finding(Rule::kNoRecords, {},
              "expected lines with ':::MLLOG ', found " +
                  (is_text ? fmt::format("none in {} lines", reader_.lines()) : format));
}

LogCollector::LogCollector(const mllog::RecordReader& reader)
    : work_(std::make_unique<Work>(reader)) {}
LogCollector::~LogCollector() = default;

void LogCollector::add(const mllog::Record& record) {
  work_->add(record);
  work_->note_swallowed(place_of(record));
}

void LogCollector::add(const mllog::MalformedRecord& record) {
  work_->add(record);
  work_->note_swallowed({record.line, record.column});
}

ParsedLog LogCollector::log() && {
  work_->finish();
  return work_->take_log();
}

}  // namespace analysis
