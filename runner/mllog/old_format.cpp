// Parses log lines of MLPerf Training 0.5 and 0.6.
#include "runner/mllog/old_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace mllog {

namespace {

constexpr std::string_view kMllRest = "L ";
constexpr std::string_view kMlpRest = "Pv0.5";
constexpr std::size_t kShownBytes = 40;

/// Keys of 0.5, some also used in logs of 0.6, and the current keys.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"run_clear_caches", keys::kCacheClear},
    {"run_set_random_seed", keys::kSeed},
    {"train_epoch", keys::kEpochStart},
    {"eval_target", keys::kQualityTarget},
    {"input_batch_size", keys::kGlobalBatchSize},
    {"input_bn_span", keys::kModelBnSpan},
    {"preproc_num_train_examples", keys::kTrainSamples},
    {"num_train_examples", keys::kTrainSamples},
    {"preproc_num_eval_examples", keys::kEvalSamples},
    {"num_eval_examples", keys::kEvalSamples}};
/// The number of training samples, but only in logs of NCF: elsewhere it is often the side of an
/// image.
constexpr std::string_view kInputSize = "input_size";
constexpr std::string_view kNcf = "ncf";

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_key(char c) { return is_letter(c) || is_digit(c); }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Removes and returns the longest prefix of `text` whose characters satisfy `belongs`.
template <class Belongs>
std::string_view take_while(std::string_view& text, Belongs belongs) {
  const auto end = std::find_if_not(text.begin(), text.end(), belongs);
  const auto size = static_cast<std::size_t>(end - text.begin());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

/// Removes and returns a word; also removes one blank after it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = take_while(text, [](char c) { return !is_blank(c); });
  if (!text.empty()) text.remove_prefix(1);
  return word;
}

std::string shown(std::string_view text) {
  if (text.empty()) return "nothing";
  return std::string(text.substr(0, kShownBytes)) + (text.size() > kShownBytes ? " ..." : "");
}

std::optional<double> number_in(std::string_view text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return {};
  return value;
}

/// Sets the time from digits with at most one decimal point.
bool put_time(std::string_view seconds, Record& record) {
  if (!std::all_of(seconds.begin(), seconds.end(), [](char c) { return is_digit(c) || c == '.'; }))
    return false;
  const std::optional<double> value = number_in(seconds);
  if (!value) return false;
  record.time_ms = *value * base::kMsPerSecond;
  record.has_time = *value > 0.0;
  return true;
}

std::string quoted(std::string_view text) {
  return to_python_json(nlohmann::ordered_json(std::string(text)));
}

std::string_view event_type_of(std::string_view key) {
  if (key.ends_with("_start")) return "INTERVAL_START";
  return key.ends_with("_stop") ? "INTERVAL_END" : "POINT_IN_TIME";
}

std::string_view benchmark_name(std::string_view name) {
  return name == "mask" || name == "mask_rcnn" ? "maskrcnn" : name;
}

/// A string's content without quotes, not decoded.
std::string_view inside(JsonText string) {
  return string.text().substr(1, string.text().size() - 2);
}

/// Digits as a JSON number; "" if they are not a 64-bit number.
std::string whole_number(std::string_view digits) {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 ? std::to_string(value) : "";
}

/// The number that a value is, or that its text begins with: "61, but this epoch only has ...".
std::string leading_number(JsonText value) {
  std::string_view text = value.text();
  if (value.is_number()) return std::string(text);
  if (!value.is_string()) return {};
  text.remove_prefix(1);
  return whole_number(take_while(text, is_digit));
}

}  // namespace

OldToken last_old_token(std::string_view line) {
  OldToken last;
  std::int64_t count = 0;
  for (std::size_t at = 0; at < line.size();) {
    // memmem() is far faster than std::string_view::find on long texts.
    const void* const found =
        memmem(line.data() + at, line.size() - at, kTokenBegin.data(), kTokenBegin.size());
    if (!found) break;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
    const std::string_view rest = line.substr(at + kTokenBegin.size());
    if (rest.starts_with(kMllRest)) {
      last = {at, at + kTokenBegin.size() + kMllRest.size(), LogFormat::kMll, count++};
    } else if (rest.starts_with(kMlpRest)) {
      const std::size_t end = std::min(line.find(' ', at), line.size() - 1) + 1;
      last = {at, end, LogFormat::kMlpV05, count++};
    }
    at += kTokenBegin.size();
  }
  return last;
}

std::string OldRecords::read(LogFormat format, std::string_view rest, std::int64_t column,
                             Record& record) {
  value_.clear();
  metadata_.clear();
  fault_.clear();
  record.format = format;
  record.value = record.metadata = {};
  const std::string reason =
      format == LogFormat::kMll ? read_mll(rest, column, record) : read_mlp(rest, column, record);
  record.event_type = event_type_of(record.key);
  record.fault = fault_;
  return reason;
}

/// SECONDS KEY: {"value": ..., "metadata": {...}}
std::string OldRecords::read_mll(std::string_view rest, std::int64_t column, Record& record) {
  std::string_view text = rest;
  const std::string_view seconds = take_word(text);
  if (!put_time(seconds, record)) return "must begin with seconds, got " + shown(seconds);
  const std::string_view old_key = take_while(text, is_key);
  if (old_key.empty()) return "has no key, but " + shown(text);
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (!text.starts_with(':')) return "must have a colon after the key, got " + shown(text);
  text = without_blanks(text.substr(1));
  const std::string reason =
      read_value(text, column + static_cast<std::int64_t>(text.data() - rest.data()));
  if (!reason.empty()) return reason;
  for (const JsonMember& member : members_) {  // the last duplicate wins
    if (member.is_named("value")) record.value = member.value;
    if (member.is_named("metadata")) record.metadata = member.value;
  }
  translate(old_key, record);
  return "";
}

/// BENCHMARK SECONDS (FILE:LINE) KEY[: VALUE]
std::string OldRecords::read_mlp(std::string_view rest, std::int64_t column, Record& record) {
  std::string_view text = rest;
  const std::string_view benchmark = take_word(text);
  const std::string_view seconds = take_word(text);
  if (!put_time(seconds, record)) {
    return "must begin with the benchmark and seconds, got " + shown(benchmark) + " and " +
           shown(seconds);
  }
  const std::size_t close = text.find(") ");
  if (!text.starts_with('(') || close == std::string_view::npos) {
    return "must have (FILE:LINE) after the seconds, got " + shown(text);
  }
  const std::string_view place = text.substr(1, close - 1);
  text.remove_prefix(close + 2);
  const std::string_view old_key = take_while(text, is_key);
  if (old_key.empty()) return "has no key, but " + shown(text);
  text = without_blanks(text);
  if (!text.empty() && text.front() != ':') {
    return "must have a colon after the key, got " + shown(text);
  }
  if (!text.empty()) text = without_blanks(text.substr(1));
  benchmark_ = benchmark;
  whole_ = JsonText("null");
  members_.clear();
  if (!text.empty()) {
    const std::string reason =
        read_value(text, column + static_cast<std::int64_t>(text.data() - rest.data()));
    if (!reason.empty()) return reason;
  }
  const std::size_t colon = place.rfind(':');
  add_member("file", quoted(place.substr(0, colon)));
  if (colon != std::string_view::npos) {
    const std::string line = whole_number(place.substr(colon + 1));
    if (!line.empty()) add_member("lineno", line);
  }
  split_value(record);
  translate(old_key, record);
  return "";
}

std::string OldRecords::read_value(std::string_view text, std::int64_t column) {
  auto scanned = scan_python_json(text, members_);
  if (const auto* fault = std::get_if<JsonFault>(&scanned)) {
    const std::string reason = "not valid JSON at column " +
                               std::to_string(column + static_cast<std::int64_t>(fault->offset)) +
                               ": " + fault->reason;
    if (!loosen(text)) return reason;
    scanned = scan_python_json(loosened_, members_);
    if (std::holds_alternative<JsonFault>(scanned)) return reason;
    fault_ = reason;
  }
  whole_ = std::get<JsonText>(scanned);
  return "";
}

/// Adds double quotes where Python and people omit them or use single ones: {value: True, file:
/// 'a.py'}.
bool OldRecords::loosen(std::string_view text) {
  if (!text.starts_with('{')) return false;
  loosened_.clear();
  while (!text.empty()) {
    const char first = text.front();
    if (first == '"' || first == '\'') {
      std::size_t end = 1;
      while (end < text.size() && text[end] != first) end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) return false;
      loosened_ +=
          first == '"' ? std::string(text.substr(0, end + 1)) : quoted(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
    } else if (is_letter(first)) {
      const std::string_view word = without_blanks(take_while(
          text, [](char c) { return c != ',' && c != ':' && c != '}' && c != ']' && c != '"'; }));
      constexpr std::string_view kWords[] = {"true", "false", "null", "NaN", "Infinity"};
      const bool is_json =
          std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
      if (word == "True" || word == "False") {
        loosened_ += word == "True" ? "true" : "false";
      } else {
        loosened_ += word == "None" ? "null" : is_json ? std::string(word) : quoted(word);
      }
    } else {
      loosened_ += first;
      text.remove_prefix(1);
    }
  }
  return true;
}

void OldRecords::add_member(std::string_view name, std::string_view json) {
  if (metadata_.empty()) metadata_ = "{";
  if (metadata_.back() == '}') metadata_.back() = ',';
  metadata_ += quoted(name);
  metadata_ += ": ";
  metadata_ += json;
  metadata_ += '}';
}

/// 0.5 puts metadata next to the value: {"epoch": 1, "value": 0.5}.
void OldRecords::split_value(Record& record) {
  record.value = whole_;
  const auto is_value = [](const JsonMember& member) { return member.is_named("value"); };
  if (std::none_of(members_.begin(), members_.end(), is_value)) return;
  for (const JsonMember& member : members_) {
    if (is_value(member)) {
      record.value = member.value;
    } else if (member.is_named("epoch")) {
      add_member(keys::kEpochNum, member.value.text());
    } else if (member.is_plain_name) {
      const std::string_view name = member.quoted_name;
      add_member(name.substr(1, name.size() - 2), member.value.text());
    }
  }
}

/// Converts the record's key, value and metadata to the current format.
void OldRecords::translate(std::string_view old_key, Record& record) {
  const bool is_mlp = record.format == LogFormat::kMlpV05;
  const auto named = std::find_if(std::begin(kNames), std::end(kNames),
                                  [&](const auto& pair) { return pair.first == old_key; });
  record.key = named == std::end(kNames) ? old_key : named->second;
  // A list of targets is not usable as quality_target; the catalogue's target applies.
  if (record.key == keys::kQualityTarget && !record.value.is_number()) record.key = old_key;
  if (is_mlp && old_key == kInputSize && benchmark_ == kNcf) record.key = keys::kTrainSamples;
  if (record.key == keys::kSubmissionBenchmark && record.value.is_string()) {
    const std::string_view name = inside(record.value);
    if (benchmark_name(name) != name) value_ = quoted(benchmark_name(name));
  } else if (record.key == keys::kEvalAccuracy) {
    put_accuracy(record);
  } else if (record.key == keys::kQualityTarget) {
    put_direction(record);
  } else if (is_mlp) {
    put_event(record);
  }
  if (!value_.empty()) record.value = JsonText(value_);
  if (!metadata_.empty()) record.metadata = JsonText(metadata_);
}

/// All metrics of those rounds improve upwards.
void OldRecords::put_direction(const Record& record) {
  const std::string_view metadata = record.metadata.text();
  const bool has_members = metadata.find_first_not_of("{ }") != std::string_view::npos;
  if (metadata_.empty() && record.metadata.is_object() && has_members) metadata_ = metadata;
  add_member(keys::kDirection, quoted("rises"));
}

/// Converts facts that 0.5 puts into the value: that caches were cleared, the epoch, how the run
/// ended.
void OldRecords::put_event(const Record& record) {
  const std::string_view key = record.key;
  if (key == keys::kCacheClear && record.value.is_null()) value_ = "true";
  if (key == keys::kEpochStart || key == keys::kEvalStart || key == keys::kEvalStop) {
    const std::string epoch = leading_number(record.value);
    if (epoch.empty()) return;
    add_member(keys::kEpochNum, epoch);
    value_ = "null";
  }
  if (key != keys::kRunStop) return;
  const std::string_view success = record.value.member("success").text();
  if (success.empty()) return;
  const bool succeeded = success == "true" || success == quoted("true");
  add_member(keys::kStatus, quoted(succeeded ? "success" : "aborted"));
  value_ = "null";
}

/// Converts Mask R-CNN's two accuracies, which are a list or nested one level too deep, and numbers
/// logged as text.
void OldRecords::put_accuracy(const Record& record) {
  const JsonText value = record.value;
  if (value.is_string()) {
    const auto scanned = scan_python_json(inside(value), members_);
    const auto* const number = std::get_if<JsonText>(&scanned);
    if (number && number->is_number()) value_ = number->text();
  } else if (const JsonText inner = value.member("accuracy"); inner.is_object()) {
    value_ = inner.text();
  } else if (value.text().starts_with('[')) {
    const nlohmann::json list = value.decoded();
    if (list.size() != 2 || !list[0].is_number() || !list[1].is_number()) return;
    value_ = to_python_json(nlohmann::ordered_json{{"BBOX", list[0]}, {"SEGM", list[1]}});
  }
}

Record OldRecords::benchmark_of(const Record& record) {
  benchmark_json_ = quoted(benchmark_name(benchmark_));
  Record benchmark = record;
  benchmark.key = keys::kSubmissionBenchmark;
  benchmark.event_type = event_type_of(benchmark.key);
  benchmark.value = JsonText(benchmark_json_);
  benchmark.metadata = JsonText("{}");
  benchmark.fault = {};
  return benchmark;
}

}  // namespace mllog
