// Reads MLPerf log records from a stream: buffering, line ends, validation.
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
/// The longest token, including the version and the blank after it.
constexpr std::size_t kLongestToken = 16;
constexpr std::size_t kBufferBytes = 1 << 16;
constexpr std::size_t kLongestRecord = 64 << 20;
/// The ASCII characters that Python strips from both ends of a line.
constexpr std::string_view kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";

std::string_view stripped(std::string_view text) {
  const auto is_blank = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' && kBlanks.find(c) != std::string_view::npos;
  };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The number of line ends in `text`: LF, CRLF or a lone CR.
std::int64_t line_ends(std::string_view text) {
  const auto count = [text](char end, const auto& counts) {
    std::int64_t number = 0;
    for (std::size_t at = text.find(end); at < text.size(); at = text.find(end, at + 1)) {
      number += counts(at) ? 1 : 0;
    }
    return number;
  };
  const auto is_lone = [text](std::size_t at) { return !text.substr(at + 1).starts_with('\n'); };
  return count('\n', [](std::size_t) { return true; }) + count('\r', is_lone);
}

/// The position after the last line end of `text`; 0 if there is none.
std::size_t after_last_line_end(std::string_view text) {
  std::size_t behind = 0;
  for (const char end : {'\n', '\r'}) {
    const void* const found = memrchr(text.data(), end, text.size());
    if (!found) continue;
    behind = std::max(behind,
                      static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1);
  }
  return behind;
}

/// The next token at or after `from`. Faster than memmem() on most lines: it searches for the one
/// letter that is rare in logs, and has no set-up cost.
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

/// The next position where a token of any format may begin.
std::size_t find_any_token(std::string_view text) {
  const void* const found =
      memmem(text.data(), text.size(), kTokenBegin.data(), kTokenBegin.size());
  if (!found) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

/// The last token of a line, and the number of tokens before it.
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

/// A time stamp as logged: a number, or a string that contains one. Nothing if it is not finite.
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

RecordReader::RecordReader(std::istream& in)
    : in_(in),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
      capacity_(kBufferBytes) {}

/// Makes room at the end of the buffer and reads; false at the end of the stream.
bool RecordReader::read_more() {
  if (line_begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + line_begin_, filled_ - line_begin_);
    searched_ -= line_begin_;
    filled_ -= line_begin_;
    line_begin_ = 0;
  }
  if (filled_ == capacity_) shorten_line();
  if (filled_ == capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(2 * capacity_);
    std::memcpy(larger.get(), buffer_.get(), filled_);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  }
  in_.read(buffer_.get() + filled_, static_cast<std::streamsize>(capacity_ - filled_));
  if (in_.bad()) throw base::SystemError("the log cannot be read further");
  const auto got = static_cast<std::size_t>(in_.gcount());
  if (bytes_ == 0) {
    constexpr std::size_t kBegin = 64;
    begin_.assign(buffer_.get(), std::min(got, kBegin));
  }
  filled_ += got;
  bytes_ += static_cast<std::int64_t>(got);
  next_line_feed_ = next_carriage_return_ = searched_;  // must be searched again
  return got > 0;
}

/// Drops the front of a long line. Without a token, keeps only the bytes in which one may have
/// begun; if the record is too long, drops what will not be decoded.
void RecordReader::shorten_line() {
  const std::string_view line(buffer_.get(), filled_);
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
  std::memmove(buffer_.get(), buffer_.get() + dropped, filled_ - dropped);
  filled_ -= dropped;
  searched_ -= std::min(searched_, dropped);
  dropped_bytes_ += static_cast<std::int64_t>(dropped);
}

/// The position of the next line end in the buffer, at or after `searched_`; `filled_` if none.
std::size_t RecordReader::line_end() {
  // Both positions are cached: in most files one of the two characters never occurs.
  const auto find = [&](char byte, std::size_t& next) {
    if (next > searched_) return;
    const void* const found = std::memchr(buffer_.get() + searched_, byte, filled_ - searched_);
    next =
        found ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.get()) : filled_;
  };
  find('\n', next_line_feed_);
  find('\r', next_carriage_return_);
  return std::min(next_line_feed_, next_carriage_return_);
}

/// Skips buffered lines before the one with the next token.
void RecordReader::skip_other_lines() {
  if (after_carriage_return_ && next_ < filled_) {
    after_carriage_return_ = false;
    if (buffer_[next_] == '\n') ++next_;
  }
  std::string_view ahead(buffer_.get() + next_, filled_ - next_);
  if (ahead.starts_with(kToken)) return;
  const std::size_t token = has_new_records_ ? find_token(ahead) : find_any_token(ahead);
  ahead = ahead.substr(0, after_last_line_end(ahead.substr(0, token)));
  if (ahead.empty()) return;
  lines_ += line_ends(ahead);
  next_ += ahead.size();
  after_carriage_return_ = ahead.back() == '\r';
}

/// Sets `line_` to the next line, without its end; false if there is none.
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
      line_ = {buffer_.get() + line_begin_, end - line_begin_};
      after_carriage_return_ = buffer_[end] == '\r';
      next_ = end + 1;
      ++lines_;
      return true;
    }
    searched_ = filled_;
    if (read_more()) continue;
    line_ = {buffer_.get() + line_begin_, filled_ - line_begin_};
    next_ = searched_ = filled_;
    if (line_.empty() && dropped_bytes_ == 0) return false;
    ++lines_;  // the last line needs no line end
    return true;
  }
}

/// The text of a well-formed string; `decoded` stores it if it contains escapes or non-ASCII
/// characters.
std::string_view RecordReader::text_of(const JsonText& string, std::string& decoded) {
  if (const auto plain = string.plain_string()) return *plain;
  decoded = *string.string();
  return decoded;
}

/// Parses the members of `payload` into `record`. Returns "" or the reason why it failed.
std::string RecordReader::fill(std::string_view payload, Record& record) {
  WantedMember wanted[] = {WantedMember("time_ms"), WantedMember("event_type"), WantedMember("key"),
                           WantedMember("value"), WantedMember("metadata")};
  const auto scanned = scan_python_json(payload, wanted, members_);
  if (const auto* fault = std::get_if<JsonFault>(&scanned)) {
    const std::int64_t at = dropped_bytes_ + (payload.data() - line_.data()) +
                            static_cast<std::int64_t>(fault->offset) + 1;
    return "not valid JSON at column " + std::to_string(at) + ": " + fault->reason;
  }
  const auto whole = std::get<JsonText>(scanned);
  if (!whole.is_object()) return "must be a JSON object, got " + shown(whole);
  const auto& [time, type, key, value, metadata] = wanted;
  if (time.value.is_absent()) return "has no time_ms";
  const std::optional<double> time_ms = read_time(time.value);
  if (!time_ms) return "time_ms must be a finite number, got " + shown(time.value);
  if (key.value.is_absent()) return "has no key";
  if (!key.value.is_string()) return "key must be a string, got " + shown(key.value);
  record.time_ms = *time_ms;
  record.repeated = "";
  for (const WantedMember& one : wanted) {
    if (one.repeats) record.repeated = one.name;
  }
  record.key = text_of(key.value, key_);
  if (type.value.is_string()) record.event_type = text_of(type.value, event_type_);
  record.value = value.value;
  record.metadata = metadata.value;
  return "";
}

std::optional<LogItem> RecordReader::interpret(std::size_t token) {
  const std::int64_t column = dropped_bytes_ + static_cast<std::int64_t>(token) + 1;
  const std::string_view payload = stripped(line_.substr(token + kToken.size()));
  std::optional<LogItem> item(std::in_place, std::in_place_type<Record>);
  Record& record = std::get<Record>(*item);
  record.line = lines_;
  record.column = column;
  const std::string reason = payload.empty() ? "nothing follows the token" : fill(payload, record);
  if (reason.empty()) {
    ++records_;
  } else {
    ++malformed_;
    item = MalformedRecord{lines_, column, reason};
  }
  return item;
}

std::optional<LogItem> RecordReader::interpret(const OldToken& token) {
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
  while (true) {
    skip_other_lines();
    if (!read_line()) return {};
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
}

}  // namespace mllog
