// Reads MLPerf log records from a stream.
// Hides buffering, line ends, and what makes a record well-formed.
#include "runner/mllog/record_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "runner/base/error.h"

namespace mllog {

namespace {

constexpr std::string_view kToken = ":::MLLOG ";
/// No token is longer, with the version and the blank behind it.
constexpr std::size_t kLongestToken = 16;
constexpr std::size_t kBufferBytes = 1 << 18;
constexpr std::size_t kLongestRecord = 64 << 20;
/// What Python strips from both ends of a line, as far as it is ASCII.
constexpr std::string_view kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The next token at or behind `from`. Sooner than memmem() on most lines: it looks for the one
/// letter that is rare in logs, and memmem() would first prepare its search.
std::size_t find_token(std::string_view text, std::size_t from = 0) {
  constexpr std::size_t kRare = kToken.find('G');
  for (std::size_t at = from + kRare; at < text.size(); ++at) {
    const void* const found = std::memchr(text.data() + at, kToken[kRare], text.size() - at);
    if (!found) break;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    if (text.substr(at - kRare).starts_with(kToken)) return at - kRare;
  }
  return std::string_view::npos;
}

/// The last token of a line, and how many stand before it.
struct LastToken {
  std::size_t at = std::string_view::npos;
  std::int64_t before = 0;
};
LastToken last_token(std::string_view line) {
  LastToken last;
  // Most records begin their line.
  last.at = line.starts_with(kToken) ? 0 : find_token(line);
  while (last.at != std::string_view::npos) {
    const std::size_t further = find_token(line, last.at + kToken.size());
    if (further == std::string_view::npos) break;
    last = {further, last.before + 1};
  }
  return last;
}

/// A time stamp as logged: a number, or a string that holds one. Nothing when it is not finite.
std::optional<double> read_time(JsonText json) {
  double value = std::nan("");
  if (const auto number = json.number()) value = *number;
  if (const auto string = json.string()) {
    std::string_view text = stripped(*string);
    if (text.starts_with('+')) text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return {};
  }
  if (!std::isfinite(value)) return {};
  return value;
}

std::string shown(JsonText json) {
  constexpr std::size_t kMostBytes = 40;
  std::string text = to_python_json(json.decoded());
  if (text.size() > kMostBytes) text = text.substr(0, kMostBytes - 4) + " ...";
  return text;
}

}  // namespace

RecordReader::RecordReader(std::istream& in) : in_(in), buffer_(kBufferBytes) {}

/// Makes room behind what was read, and reads; false at the end of the stream.
bool RecordReader::read_more() {
  if (line_begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + line_begin_, filled_ - line_begin_);
    searched_ -= line_begin_;
    filled_ -= line_begin_;
    line_begin_ = 0;
  }
  if (filled_ == buffer_.size()) shorten_line();
  if (filled_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  in_.read(buffer_.data() + filled_, static_cast<std::streamsize>(buffer_.size() - filled_));
  if (in_.bad()) throw base::SystemError("the log cannot be read further");
  const auto got = static_cast<std::size_t>(in_.gcount());
  filled_ += got;
  bytes_ += static_cast<std::int64_t>(got);
  next_line_feed_ = searched_;  // to be looked for again
  return got > 0;
}

/// Drops the front of a long line: all of it but what a token may have begun in, where it shows
/// none; what nobody will decode, where a record is too long.
void RecordReader::shorten_line() {
  const std::string_view line(buffer_.data(), filled_);
  if (!too_long_column_) {
    LastToken token = last_token(line);
    if (token.at == std::string_view::npos && !has_new_records_) {
      const OldToken old = last_old_token(line);
      token = {old.at, old.before};
    }
    const bool has_token = token.at != std::string_view::npos;
    if (has_token && filled_ < kLongestRecord) return;
    if (has_token) {
      swallowed_ += token.before;
      too_long_column_ = dropped_bytes_ + static_cast<std::int64_t>(token.at) + 1;
    }
  }
  const std::size_t dropped = filled_ - (kLongestToken - 1);
  std::memmove(buffer_.data(), buffer_.data() + dropped, filled_ - dropped);
  filled_ -= dropped;
  searched_ -= std::min(searched_, dropped);
  dropped_bytes_ += static_cast<std::int64_t>(dropped);
}

/// The place of the next line end that was read, at or behind `searched_`; `filled_` for none.
std::size_t RecordReader::line_end() {
  const char* const text = buffer_.data();
  const auto find_byte = [&](char byte, std::size_t end) {
    const void* const found = std::memchr(text + searched_, byte, end - searched_);
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text) : end;
  };
  // The line feed is remembered: in a file of lone carriage returns it lies far ahead.
  if (next_line_feed_ <= searched_) next_line_feed_ = find_byte('\n', filled_);
  return find_byte('\r', next_line_feed_);
}

/// Takes the next line, without its end, into `line_`; false when there is none.
bool RecordReader::read_line() {
  line_begin_ = searched_ = next_;
  dropped_bytes_ = 0;
  too_long_column_.reset();
  while (true) {
    if (after_carriage_return_ && searched_ < filled_) {
      after_carriage_return_ = false;
      if (buffer_[searched_] == '\n') line_begin_ = ++searched_;
    }
    const std::size_t end = line_end();
    if (end < filled_) {
      line_ = {buffer_.data() + line_begin_, end - line_begin_};
      after_carriage_return_ = buffer_[end] == '\r';
      next_ = end + 1;
      ++lines_;
      return true;
    }
    searched_ = filled_;
    if (read_more()) continue;
    line_ = {buffer_.data() + line_begin_, filled_ - line_begin_};
    next_ = searched_ = filled_;
    if (line_.empty() && dropped_bytes_ == 0) return false;
    ++lines_;  // the last line needs no end
    return true;
  }
}

/// The text of a well-formed string; `decoded` keeps it where it cannot be taken as it stands.
std::string_view RecordReader::text_of(JsonText string, std::string& decoded) const {
  const std::string_view inside = string.text().substr(1, string.text().size() - 2);
  const auto is_as_it_stands = [](char c) {
    return c != '\\' && static_cast<unsigned char>(c) < 0x80;
  };
  if (std::all_of(inside.begin(), inside.end(), is_as_it_stands)) return inside;
  decoded = *string.string();
  return decoded;
}

/// Puts the members of `payload` into `record`; returns why that cannot be, or "".
std::string RecordReader::fill(std::string_view payload, Record& record) {
  const auto scanned = scan_python_json(payload, members_);
  if (const auto* fault = std::get_if<JsonFault>(&scanned)) {
    const std::int64_t at = dropped_bytes_ + (payload.data() - line_.data()) +
                            static_cast<std::int64_t>(fault->offset) + 1;
    return "not valid JSON at column " + std::to_string(at) + ": " + fault->reason;
  }
  const auto whole = std::get<JsonText>(scanned);
  if (!whole.is_object()) return "must be a JSON object, got " + shown(whole);
  JsonText time, key, type;
  const std::pair<std::string_view, JsonText*> places[] = {{"time_ms", &time},
                                                           {"event_type", &type},
                                                           {"key", &key},
                                                           {"value", &record.value},
                                                           {"metadata", &record.metadata}};
  for (const JsonMember& member : members_) {
    for (const auto& [name, place] : places) {
      if (!member.is_named(name)) continue;
      *place = member.value;  // the last of a name wins
      break;
    }
  }
  if (time.is_absent()) return "has no time_ms";
  const std::optional<double> time_ms = read_time(time);
  if (!time_ms) return "time_ms must be a finite number, got " + shown(time);
  if (key.is_absent()) return "has no key";
  if (!key.is_string()) return "key must be a string, got " + shown(key);
  record.time_ms = *time_ms;
  record.key = text_of(key, key_);
  if (type.is_string()) record.event_type = text_of(type, event_type_);
  return "";
}

LogItem RecordReader::interpret(std::size_t token) {
  const std::int64_t column = dropped_bytes_ + static_cast<std::int64_t>(token) + 1;
  const std::string_view payload = stripped(line_.substr(token + kToken.size()));
  Record record;
  record.line = lines_;
  record.column = column;
  const std::string reason = payload.empty() ? "nothing follows the token" : fill(payload, record);
  if (!reason.empty()) {
    ++malformed_;
    return MalformedRecord{lines_, column, reason};
  }
  ++records_;
  return record;
}

LogItem RecordReader::interpret(const OldToken& token) {
  Record record;
  record.line = lines_;
  record.column = dropped_bytes_ + static_cast<std::int64_t>(token.at) + 1;
  const std::int64_t column = dropped_bytes_ + static_cast<std::int64_t>(token.end) + 1;
  const std::string reason =
      old_.read(token.format, stripped(line_.substr(token.end)), column, record);
  ++old_records_;
  if (!reason.empty()) {
    ++malformed_;
    return MalformedRecord{lines_, record.column, reason, token.format};
  }
  ++records_;
  if (token.format != LogFormat::kMlpV05 || has_benchmark_) return record;
  has_benchmark_ = true;
  pending_ = record;
  return old_.benchmark_of(record);
}

std::optional<LogItem> RecordReader::next() {
  if (pending_) return std::exchange(pending_, std::nullopt);
  while (read_line()) {
    if (too_long_column_) {
      ++malformed_;
      return MalformedRecord{lines_, *too_long_column_, "the line is longer than 64 MiB"};
    }
    const LastToken token = last_token(line_);
    if (token.at != std::string_view::npos) {
      swallowed_ += token.before;
      has_new_records_ = true;
      return interpret(token.at);
    }
    if (has_new_records_) continue;
    if (const OldToken old = last_old_token(line_); old.at != std::string_view::npos) {
      swallowed_ += old.before;
      return interpret(old);
    }
  }
  return {};
}

}  // namespace mllog
