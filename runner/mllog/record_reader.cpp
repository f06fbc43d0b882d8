// Reads MLPerf log records from a stream.
// Hides buffering, line ends, and what makes a record well-formed.
#include "runner/mllog/record_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "runner/base/error.h"
#include "runner/mllog/python_json.h"

namespace mllog {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kToken = ":::MLLOG ";
constexpr std::string_view kOldTokens[] = {":::MLL ", ":::MLPv"};
constexpr std::size_t kBufferBytes = 1 << 16;
/// A line without a token is kept up to here, then shortened to what a token may have begun in.
constexpr std::size_t kKeptWithoutToken = 1 << 20;
constexpr std::size_t kLongestRecord = 64 << 20;
/// What Python strips from both ends of a line, as far as it is ASCII.
constexpr std::string_view kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::int64_t count_of(std::string_view text, std::string_view token) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(token); at != std::string_view::npos;
       at = text.find(token, at + token.size())) {
    ++count;
  }
  return count;
}

/// A time stamp as logged: a number, or a string that holds one. Nothing when it is not finite.
std::optional<double> read_time(const Json& json) {
  double value = std::nan("");
  if (json.is_number()) value = json.get<double>();
  if (json.is_string()) {
    std::string_view text = stripped(json.get_ref<const std::string&>());
    if (text.starts_with('+')) text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return {};
  }
  if (!std::isfinite(value)) return {};
  return value;
}

std::string shown(const Json& json) {
  constexpr std::size_t kMostBytes = 40;
  std::string text = to_python_json(json);
  if (text.size() > kMostBytes) text = text.substr(0, kMostBytes - 4) + " ...";
  return text;
}

/// Moves the members of `payload` into `record`; returns why that cannot be, or "".
std::string fill(Json& payload, Record& record) {
  if (!payload.is_object()) return "must be a JSON object, got " + shown(payload);
  const auto time = payload.find("time_ms"), key = payload.find("key");
  if (time == payload.end()) return "has no time_ms";
  const std::optional<double> time_ms = read_time(*time);
  if (!time_ms) return "time_ms must be a finite number, got " + shown(*time);
  if (key == payload.end()) return "has no key";
  if (!key->is_string()) return "key must be a string, got " + shown(*key);
  record.time_ms = *time_ms;
  record.key = std::move(key->get_ref<std::string&>());
  if (const auto type = payload.find("event_type"); type != payload.end() && type->is_string()) {
    record.event_type = std::move(type->get_ref<std::string&>());
  }
  if (const auto value = payload.find("value"); value != payload.end()) {
    record.has_value = true;
    record.value = std::move(*value);
  }
  if (const auto metadata = payload.find("metadata"); metadata != payload.end()) {
    record.has_metadata = true;
    record.metadata = std::move(*metadata);
  }
  return "";
}

}  // namespace

const Json* Record::metadata_member(const std::string& name) const {
  const auto member = metadata.find(name);  // end() where metadata is no object
  return member == metadata.end() ? nullptr : &*member;
}

RecordReader::RecordReader(std::istream& in) : in_(in), buffer_(kBufferBytes) {}

bool RecordReader::refill() {
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (in_.bad()) throw base::SystemError("the log cannot be read further");
  next_ = 0;
  filled_ = static_cast<std::size_t>(in_.gcount());
  return filled_ > 0;
}

void RecordReader::keep(std::string_view piece) {
  if (too_long_) return;
  const std::size_t seen = line_.size();
  line_ += piece;
  if (!has_token_) {
    const std::size_t overlap = std::min(seen, kToken.size() - 1);
    has_token_ = line_.find(kToken, seen - overlap) != std::string::npos;
  }
  if (!has_token_ && line_.size() > kKeptWithoutToken) {
    const std::size_t dropped = line_.size() - (kToken.size() - 1);
    line_.erase(0, dropped);
    dropped_bytes_ += static_cast<std::int64_t>(dropped);
  }
  too_long_ = line_.size() > kLongestRecord;
}

bool RecordReader::read_line() {
  line_.clear();
  dropped_bytes_ = 0;
  has_token_ = too_long_ = false;
  while (next_ < filled_ || refill()) {
    if (std::exchange(after_carriage_return_, false) && buffer_[next_] == '\n') {
      ++next_;
      continue;
    }
    const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(next_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(filled_);
    const auto end = std::find_if(begin, last, [](char c) { return c == '\n' || c == '\r'; });
    keep({&*begin, static_cast<std::size_t>(end - begin)});
    next_ += static_cast<std::size_t>(end - begin);
    if (end == last) continue;
    after_carriage_return_ = *end == '\r';
    ++next_;
    ++lines_;
    return true;
  }
  if (line_.empty()) return false;
  ++lines_;  // the last line needs no end
  return true;
}

LogItem RecordReader::interpret() {
  const std::size_t token = line_.rfind(kToken);
  const std::int64_t column = dropped_bytes_ + static_cast<std::int64_t>(token) + 1;
  const auto malformed = [&](std::string reason) -> LogItem {
    ++malformed_;
    return MalformedRecord{lines_, column, std::move(reason)};
  };
  if (too_long_) return malformed("the line is longer than 64 MiB");
  swallowed_ += count_of(line_, kToken) - 1;

  const std::string_view payload = stripped(std::string_view(line_).substr(token + kToken.size()));
  if (payload.empty()) return malformed("nothing follows the token");
  auto parsed = parse_python_json(payload);
  if (const auto* fault = std::get_if<JsonFault>(&parsed)) {
    const std::int64_t at = dropped_bytes_ + (payload.data() - line_.data()) +
                            static_cast<std::int64_t>(fault->offset) + 1;
    return malformed("not valid JSON at column " + std::to_string(at) + ": " + fault->reason);
  }
  Record record;
  record.line = lines_;
  record.column = column;
  std::string reason = fill(std::get<Json>(parsed), record);
  if (!reason.empty()) return malformed(std::move(reason));
  ++records_;
  return record;
}

std::optional<LogItem> RecordReader::next() {
  while (read_line()) {
    if (has_token_) return interpret();
    for (const std::string_view token : kOldTokens) {
      if (line_.find(token) != std::string::npos) {
        ++old_format_;
        break;
      }
    }
  }
  return {};
}

}  // namespace mllog
