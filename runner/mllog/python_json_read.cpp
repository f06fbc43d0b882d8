// Reads JSON as Python's json.loads does.
// Hides the grammar, the latin-1 fallback and the numbers beyond 64 bits.
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "runner/base/utf8.h"
#include "runner/mllog/python_json.h"

namespace mllog {

namespace {

using Json = nlohmann::json;

/// Python gives up near a thousand levels; printing and freeing stay safe well beyond this.
constexpr int kMaxDepth = 500;

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/// Of the bytes of a string from `at` on, the first that is not ASCII as it stands.
std::size_t plain_end(std::string_view text, std::size_t at) {
  // Eight at a time. (x - 0x01..) & ~x & 0x80.. marks the zero bytes of x (Hacker's Delight 6-1),
  // and perhaps some above a true one: the lowest mark is true.
  constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  const auto zeros = [](std::uint64_t x) { return (x - kOnes) & ~x & kTops; };
  while (std::endian::native == std::endian::little && at + 8 <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const std::uint64_t control = (word - kOnes * 0x20) & ~word & kTops;
    const std::uint64_t stops =
        zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\')) | control | (word & kTops);
    if (stops != 0) return at + static_cast<std::size_t>(std::countr_zero(stops)) / 8;
    at += 8;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

struct IgnoreMembers {
  void operator()(const JsonMember&) const {}
};

/// Reads a value, or only goes over it: then every `out` is null, and `on_member` gets the members
/// of the value as a whole, if it is an object.
template <bool kDecode, class OnMember = IgnoreMembers>
class Parser {
 public:
  explicit Parser(std::string_view text, OnMember on_member = {})
      : text_(text), on_member_(on_member) {}

  std::variant<Json, JsonFault> parse() {
    Json value;
    if (!parse_all(&value)) return fault_;
    return value;
  }

  std::variant<JsonText, JsonFault> scan() {
    if (!parse_all(nullptr)) return fault_;
    return JsonText(between(first_, last_));
  }

 private:
  bool parse_all(Json* out) {
    skip_blanks();
    first_ = at_;
    if (!parse_value(out, 0)) return false;
    last_ = at_;
    skip_blanks();
    return at_ == text_.size() || fail("text behind the value");
  }

  bool fail(const char* reason) {
    fault_ = {at_, reason};
    return false;
  }

  /// substr() without its checks, which show in profiles.
  std::string_view between(std::size_t begin, std::size_t end) const {
    return {text_.data() + begin, end - begin};
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (!between(at_, text_.size()).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) <= ' ' &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool parse_value(Json* out, int depth) {
    if (at_ == text_.size()) return fail("unexpected end");
    switch (text_[at_]) {
      case '{':
        return parse_object(out, depth);
      case '[':
        return parse_array(out, depth);
      case '"': {
        if constexpr (!kDecode) return parse_string(nullptr);
        *out = std::string();
        return parse_string(&out->get_ref<std::string&>());
      }
      default:
        return parse_word(out) || parse_number(out);
    }
  }

  bool parse_object(Json* out, int depth) {
    if (depth == kMaxDepth) return fail("nested too deeply");
    ++at_;
    if constexpr (kDecode) *out = Json::object();
    skip_blanks();
    if (take('}')) return true;
    while (true) {
      if (!parse_member(out, depth)) return false;
      skip_blanks();
      if (take('}')) return true;
      if (!take(',')) return fail("expected ',' or '}'");
      skip_blanks();
    }
  }

  bool parse_member(Json* out, int depth) {
    if (peek() != '"') return fail("expected a member name in double quotes");
    const std::size_t name = at_;
    [[maybe_unused]] std::conditional_t<kDecode, std::string, char> decoded{};
    is_plain_ = true;
    if constexpr (kDecode) {
      if (!parse_string(&decoded)) return false;
    } else {
      if (!parse_string(nullptr)) return false;
    }
    const bool is_plain_name = is_plain_;
    const std::size_t name_end = at_;
    skip_blanks();
    if (!take(':')) return fail("expected ':'");
    skip_blanks();
    const std::size_t value = at_;
    if constexpr (kDecode) return parse_value(&(*out)[decoded], depth + 1);  // the last wins
    if (!parse_value(nullptr, depth + 1)) return false;
    if (depth == 0) {
      on_member_(JsonMember(between(name, name_end), JsonText(between(value, at_)), is_plain_name));
    }
    return true;
  }

  bool parse_array(Json* out, int depth) {
    if (depth == kMaxDepth) return fail("nested too deeply");
    ++at_;
    if constexpr (kDecode) *out = Json::array();
    skip_blanks();
    if (take(']')) return true;
    while (true) {
      if constexpr (kDecode) out->push_back(nullptr);
      if (!parse_value(kDecode ? &out->back() : nullptr, depth + 1)) return false;
      skip_blanks();
      if (take(']')) return true;
      if (!take(',')) return fail("expected ',' or ']'");
      skip_blanks();
    }
  }

  bool parse_word(Json* out) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto is = [&](std::string_view word, const auto& value) {
      if (!take_word(word)) return false;
      if constexpr (kDecode) *out = value;
      return true;
    };
    switch (text_[at_]) {
      case 't':
        return is("true", true);
      case 'f':
        return is("false", false);
      case 'n':
        return is("null", nullptr);
      case 'N':
        return is("NaN", std::numeric_limits<double>::quiet_NaN());
      case 'I':
        return is("Infinity", kInfinity);
      case '-':
        return is("-Infinity", -kInfinity);
      default:
        return false;
    }
  }

  bool take_digits() {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > first;
  }

  bool parse_number(Json* out) {
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
    if constexpr (kDecode) *out = number(std::string(text_.substr(first, at_ - first)), integer);
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

  bool parse_string(std::string* out) {
    ++at_;
    while (at_ < text_.size()) {
      const std::size_t end = plain_end(text_, at_);
      if constexpr (kDecode) out->append(text_, at_, end - at_);
      at_ = end;
      if (at_ == text_.size()) break;
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') return ++at_, true;
      is_plain_ = false;
      if (byte == '\\') {
        if (!parse_escape(out)) return false;
      } else if (byte < 0x20) {
        return fail("control character in a string");
      } else {
        take_other_byte(byte, out);
      }
    }
    return fail("unterminated string");
  }

  /// A character beyond ASCII; what is no UTF-8 is latin-1.
  void take_other_byte(unsigned char byte, std::string* out) {
    const std::size_t length = base::utf8_at(text_, at_).length;
    if (kDecode && length > 0) out->append(text_, at_, length);
    if (kDecode && length == 0) base::append_utf8(byte, *out);
    at_ += length > 0 ? length : 1;
  }

  bool parse_escape(std::string* out) {
    ++at_;
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) return parse_code(out);
    const std::size_t which = kLetters.find(peek());
    if (at_ == text_.size() || which == std::string_view::npos) return fail("unknown escape");
    if constexpr (kDecode) *out += kMeanings[which];
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

  bool parse_code(std::string* out) {
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
    if constexpr (kDecode) base::append_utf8(lone_half ? kReplacement : *code, *out);
    return true;
  }

  std::string_view text_;
  OnMember on_member_;
  std::size_t at_ = 0, first_ = 0, last_ = 0;
  bool is_plain_ = true;  ///< the last string was ASCII without escapes
  JsonFault fault_{};
};

}  // namespace

std::variant<Json, JsonFault> parse_python_json(std::string_view text) {
  return Parser<true>(text).parse();
}

std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::vector<JsonMember>& members) {
  members.clear();
  const auto keep = [&](const JsonMember& member) { members.push_back(member); };
  auto result = Parser<false, decltype(keep)>(text, keep).scan();
  if (std::holds_alternative<JsonFault>(result)) members.clear();
  return result;
}

JsonText JsonText::member(std::string_view name) const {
  if (!is_object()) return {};
  JsonText found;
  const auto look = [&](const JsonMember& member) {
    if (member.is_named(name)) found = member.value;  // the last wins
  };
  Parser<false, decltype(look)>(text_, look).scan();
  return found;
}

}  // namespace mllog
