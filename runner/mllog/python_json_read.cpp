// Reads JSON as Python's json.loads does.
// Hides the grammar, the latin-1 fallback and the numbers beyond 64 bits.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "runner/mllog/python_json.h"

namespace mllog {

namespace {

using Json = nlohmann::json;

/// Python gives up near a thousand levels; printing and freeing stay safe well beyond this.
constexpr int kMaxDepth = 500;

void append_utf8(std::uint32_t code, std::string& out) {
  const auto byte = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

/// Length of the UTF-8 sequence at the front of `text`, which is not empty; 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::variant<Json, JsonFault> parse() {
    Json value;
    skip_blanks();
    if (!parse_value(value, 0)) return fault_;
    skip_blanks();
    if (at_ != text_.size()) {
      fail("text behind the value");
      return fault_;
    }
    return value;
  }

 private:
  bool fail(const char* reason) {
    fault_ = {at_, reason};
    return false;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool parse_value(Json& out, int depth) {
    if (at_ == text_.size()) return fail("unexpected end");
    switch (text_[at_]) {
      case '{':
        return parse_object(out, depth);
      case '[':
        return parse_array(out, depth);
      case '"':
        out = std::string();
        return parse_string(out.get_ref<std::string&>());
      default:
        return parse_word(out) || parse_number(out);
    }
  }

  bool parse_object(Json& out, int depth) {
    if (depth == kMaxDepth) return fail("nested too deeply");
    ++at_;
    out = Json::object();
    skip_blanks();
    if (take('}')) return true;
    while (true) {
      if (peek() != '"') return fail("expected a member name in double quotes");
      std::string key;
      if (!parse_string(key)) return false;
      skip_blanks();
      if (!take(':')) return fail("expected ':'");
      skip_blanks();
      if (!parse_value(out[key], depth + 1)) return false;  // of one name the last wins
      skip_blanks();
      if (take('}')) return true;
      if (!take(',')) return fail("expected ',' or '}'");
      skip_blanks();
    }
  }

  bool parse_array(Json& out, int depth) {
    if (depth == kMaxDepth) return fail("nested too deeply");
    ++at_;
    out = Json::array();
    skip_blanks();
    if (take(']')) return true;
    while (true) {
      out.push_back(nullptr);
      if (!parse_value(out.back(), depth + 1)) return false;
      skip_blanks();
      if (take(']')) return true;
      if (!take(',')) return fail("expected ',' or ']'");
      skip_blanks();
    }
  }

  bool parse_word(Json& out) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (take_word("true")) return out = true, true;
    if (take_word("false")) return out = false, true;
    if (take_word("null")) return out = nullptr, true;
    if (take_word("NaN")) return out = std::numeric_limits<double>::quiet_NaN(), true;
    if (take_word("Infinity")) return out = kInfinity, true;
    if (take_word("-Infinity")) return out = -kInfinity, true;
    return false;
  }

  bool take_digits() {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > first;
  }

  bool parse_number(Json& out) {
    const std::size_t first = at_;
    take('-');
    if (!take('0') && !take_digits()) {
      at_ = first;
      return fail("expected a value");
    }
    bool integer = true;
    const std::size_t whole_end = at_;
    if (take('.')) {
      if (take_digits()) {
        integer = false;
      } else {
        at_ = whole_end;  // what follows is no part of the number
      }
    }
    const std::size_t fraction_end = at_;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (take_digits()) {
        integer = false;
      } else {
        at_ = fraction_end;
      }
    }
    out = number(std::string(text_.substr(first, at_ - first)), integer);
    return true;
  }

  static Json number(const std::string& text, bool integer) {
    const char* const end = text.data() + text.size();
    std::int64_t small = 0;
    if (integer && std::from_chars(text.data(), end, small).ec == std::errc()) return small;
    std::uint64_t large = 0;
    if (integer && std::from_chars(text.data(), end, large).ec == std::errc()) return large;
    double value = 0.0;
    if (std::from_chars(text.data(), end, value).ec == std::errc()) return value;
    return std::strtod(text.c_str(), nullptr);  // too large or too small: infinity or zero
  }

  bool parse_string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') return ++at_, true;
      if (byte == '\\') {
        if (!parse_escape(out)) return false;
      } else if (byte < 0x20) {
        return fail("control character in a string");
      } else if (const std::size_t length = utf8_length(text_.substr(at_)); length > 0) {
        out.append(text_, at_, length);
        at_ += length;
      } else {
        append_utf8(byte, out);  // latin-1
        ++at_;
      }
    }
    return fail("unterminated string");
  }

  bool parse_escape(std::string& out) {
    ++at_;
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) return parse_code(out);
    const std::size_t which = kLetters.find(peek());
    if (at_ == text_.size() || which == std::string_view::npos) return fail("unknown escape");
    out += kMeanings[which];
    ++at_;
    return true;
  }

  /// The four hexadecimal digits behind \u.
  std::optional<std::uint32_t> take_code() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) return {};
    at_ += 4;
    return code;
  }

  bool parse_code(std::string& out) {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    std::optional<std::uint32_t> code = take_code();
    if (!code) return fail("expected four hexadecimal digits");
    if (*code >= 0xD800 && *code < 0xDC00) {  // half of a pair
      const std::size_t behind_first = at_;
      std::optional<std::uint32_t> second;
      if (take_word("\\u")) second = take_code();
      if (second && *second >= 0xDC00 && *second < 0xE000) {
        code = 0x10000 + ((*code - 0xD800) << 10) + (*second - 0xDC00);
      } else {
        at_ = behind_first;
      }
    }
    const bool lone_half = *code >= 0xD800 && *code < 0xE000;  // Python keeps it, UTF-8 cannot
    append_utf8(lone_half ? kReplacement : *code, out);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  JsonFault fault_{};
};

}  // namespace

std::variant<Json, JsonFault> parse_python_json(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace mllog
