// The grammar of Python's json.loads, with Latin-1 fallback and fast scanning of strings.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "runner/base/utf8.h"
#include "runner/mllog/python_json.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mllog {

/// The first byte of a string in [at, end) that is not plain ASCII: a quote, an escape, a control
/// character or a non-ASCII byte.
inline const char* plain_end(const char* at, const char* end) {
#if defined(__SSE2__)
  // Sixteen bytes at a time. As signed values, non-ASCII bytes are negative, and so below the first
  // printable character.
  const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'),
                blank = _mm_set1_epi8(' ');
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i stops =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, escape)),
                     _mm_cmplt_epi8(bytes, blank));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(stops));
    if (mask != 0) return at + std::countr_zero(mask);
  }
#endif
  // Eight bytes at a time. (x - 0x01..) & ~x & 0x80.. marks the zero bytes of x (Hacker's Delight
  // 6-1). Marks above the lowest one may be false; the lowest is true.
  constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;
  const auto zeros = [](std::uint64_t x) { return (x - kOnes) & ~x & kTops; };
  for (; std::endian::native == std::endian::little && end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const std::uint64_t control = (word - kOnes * 0x20) & ~word & kTops;
    const std::uint64_t stops =
        zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\')) | control | (word & kTops);
    if (stops != 0) return at + std::countr_zero(stops) / 8;
  }
  const auto is_plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
  };
  while (at != end && is_plain(*at)) ++at;
  return at;
}

/// Ignores the members of an object.
struct IgnoreMembers {
  static constexpr int kDepth = 0;
  void take(int, const JsonMember&) {}
};

/// Parses a value (kDecode), or only validates it: then every `out` is null. When validating,
/// `visitor` takes the members of the outermost value (depth 0) if it is an object, and those of
/// nested objects up to depth kDepth - 1, inner members before the member that contains them. Each
/// parse function returns the position after its part, or null after a fault.
template <bool kDecode, class Visitor = IgnoreMembers>
class PythonJsonParser {
 public:
  using Json = nlohmann::json;

  PythonJsonParser(std::string_view text, Visitor& visitor)
      : begin_(text.data()), end_(begin_ + text.size()), visitor_(visitor) {}

  std::variant<Json, JsonFault> parse() {
    Json value;
    if (parse_all(&value).empty()) return fault_;
    return value;
  }

  std::variant<JsonText, JsonFault> scan() {
    const std::string_view value = parse_all(nullptr);
    if (value.empty()) return fault_;
    return JsonText(value);
  }

 private:
  /// Python fails near a thousand levels; printing and freeing would be safe well beyond this
  /// limit.
  static constexpr int kMaxDepth = 500;

  /// The text of the value; empty after a fault.
  std::string_view parse_all(Json* out) {
    const char* const first = after_blanks(begin_);
    const char* const last = parse_value(first, out, 0);
    if (last == nullptr) return {};
    const char* const rest = after_blanks(last);
    if (rest != end_) {
      fail(rest, "text after the value");
      return {};
    }
    return between(first, last);
  }

  const char* fail(const char* at, const char* reason) {
    fault_ = {static_cast<std::size_t>(at - begin_), reason};
    return nullptr;
  }

  static std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  bool is_at(const char* at, char c) const { return at != end_ && *at == c; }

  const char* after_blanks(const char* at) const {
    while (at != end_ && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
    return at;
  }

  const char* parse_value(const char* at, Json* out, int depth) {
    if (at == end_) return fail(at, "unexpected end");
    switch (*at) {
      case '{':
        return parse_object(at, out, depth);
      case '[':
        return parse_array(at, out, depth);
      case '"': {
        if constexpr (!kDecode) return parse_string(at, nullptr);
        *out = std::string();
        return parse_string(at, &out->get_ref<std::string&>());
      }
      default: {
        const char* const behind = parse_word(at, out);
        return behind ? behind : parse_number(at, out);
      }
    }
  }

  const char* parse_object(const char* at, Json* out, int depth) {
    if (depth == kMaxDepth) return fail(at, "nested too deeply");
    if constexpr (kDecode) *out = Json::object();
    at = after_blanks(at + 1);
    if (is_at(at, '}')) return at + 1;
    while (true) {
      at = parse_member(at, out, depth);
      if (at == nullptr) return nullptr;
      at = after_blanks(at);
      if (is_at(at, '}')) return at + 1;
      if (!is_at(at, ',')) return fail(at, "expected ',' or '}'");
      at = after_blanks(at + 1);
    }
  }

  const char* parse_member(const char* at, Json* out, int depth) {
    if (!is_at(at, '"')) return fail(at, "expected a member name in double quotes");
    [[maybe_unused]] std::conditional_t<kDecode, std::string, char> decoded{};
    const char* name_end = nullptr;
    is_plain_ = true;
    if constexpr (kDecode) {
      name_end = parse_string(at, &decoded);
    } else {
      name_end = parse_string(at, nullptr);
    }
    if (name_end == nullptr) return nullptr;
    const bool is_plain_name = is_plain_;
    const char* value = after_blanks(name_end);
    if (!is_at(value, ':')) return fail(value, "expected ':'");
    value = after_blanks(value + 1);
    if constexpr (kDecode) return parse_value(value, &(*out)[decoded], depth + 1);  // the last wins
    is_plain_ = true;
    const char* const behind = parse_value(value, nullptr, depth + 1);
    if (behind != nullptr && depth < Visitor::kDepth) {
      const std::string_view text = between(value, behind);
      const bool is_plain_string = *value == '"' && is_plain_;
      visitor_.take(
          depth, {between(at, name_end), is_plain_string ? JsonText::plain(text) : JsonText(text),
                  is_plain_name});
    }
    return behind;
  }

  const char* parse_array(const char* at, Json* out, int depth) {
    if (depth == kMaxDepth) return fail(at, "nested too deeply");
    if constexpr (kDecode) *out = Json::array();
    at = after_blanks(at + 1);
    if (is_at(at, ']')) return at + 1;
    while (true) {
      if constexpr (kDecode) out->push_back(nullptr);
      at = parse_value(at, kDecode ? &out->back() : nullptr, depth + 1);
      if (at == nullptr) return nullptr;
      at = after_blanks(at);
      if (is_at(at, ']')) return at + 1;
      if (!is_at(at, ',')) return fail(at, "expected ',' or ']'");
      at = after_blanks(at + 1);
    }
  }

  /// Null if there is no such word; sets no fault.
  const char* parse_word(const char* at, Json* out) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto is = [&](std::string_view word, const auto& value) -> const char* {
      if (!between(at, end_).starts_with(word)) return nullptr;
      if constexpr (kDecode) *out = value;
      return at + word.size();
    };
    switch (*at) {
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
        return nullptr;
    }
  }

  const char* behind_digits(const char* at) const {
    while (at != end_ && *at >= '0' && *at <= '9') ++at;
    return at;
  }

  const char* parse_number(const char* first, Json* out) {
    const char* at = is_at(first, '-') ? first + 1 : first;
    const char* end = is_at(at, '0') ? at + 1 : behind_digits(at);
    if (end == at) return fail(first, "expected a value");
    // A decimal point or exponent without digits is not part of the number.
    bool integer = true;
    const auto extend = [&](const char* from) {
      const char* const behind = behind_digits(from);
      if (behind == from) return;
      end = behind;
      integer = false;
    };
    if (is_at(end, '.')) extend(end + 1);
    if (is_at(end, 'e') || is_at(end, 'E')) {
      at = end + 1;
      extend(is_at(at, '+') || is_at(at, '-') ? at + 1 : at);
    }
    if constexpr (kDecode) *out = number(std::string(first, end), integer);
    return end;
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

  const char* parse_string(const char* at, std::string* out) {
    ++at;
    while (true) {
      const char* const stop = plain_end(at, end_);
      if constexpr (kDecode) out->append(at, stop);
      at = stop;
      if (at == end_) return fail(at, "unterminated string");
      const auto byte = static_cast<unsigned char>(*at);
      if (byte == '"') return at + 1;
      is_plain_ = false;
      if (byte < 0x20) return fail(at, "control character in a string");
      at = byte == '\\' ? parse_escape(at + 1, out) : take_other_byte(at, out);
      if (at == nullptr) return nullptr;
    }
  }

  /// A non-ASCII character; bytes that are not UTF-8 are Latin-1.
  const char* take_other_byte(const char* at, std::string* out) const {
    const std::size_t length = base::utf8_at(between(at, end_), 0).length;
    if constexpr (kDecode) {
      if (length > 0) out->append(at, length);
      if (length == 0) base::append_utf8(static_cast<unsigned char>(*at), *out);
    }
    return at + (length > 0 ? length : 1);
  }

  const char* parse_escape(const char* at, std::string* out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (is_at(at, 'u')) return parse_code(at + 1, out);
    const std::size_t which = at == end_ ? std::string_view::npos : kLetters.find(*at);
    if (which == std::string_view::npos) return fail(at, "unknown escape");
    if constexpr (kDecode) *out += kMeanings[which];
    return at + 1;
  }

  /// The four hexadecimal digits after \u.
  std::optional<std::uint32_t> code_at(const char* at) const {
    constexpr int kDigits = 4;
    std::uint32_t code = 0;
    if (end_ - at < kDigits) return {};
    const auto [stop, error] = std::from_chars(at, at + kDigits, code, 16);
    if (error != std::errc() || stop != at + kDigits) return {};
    return code;
  }

  const char* parse_code(const char* at, std::string* out) {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    std::optional<std::uint32_t> code = code_at(at);
    if (!code) return fail(at, "expected four hexadecimal digits");
    at += 4;
    if (*code >= 0xD800 && *code < 0xDC00 && between(at, end_).starts_with("\\u")) {
      const std::optional<std::uint32_t> second = code_at(at + 2);  // second half of a surrogate
                                                                    // pair
      if (second && *second >= 0xDC00 && *second < 0xE000) {
        code = 0x10000 + ((*code - 0xD800) << 10) + (*second - 0xDC00);
        at += 6;
      }
    }
    const bool lone_half = *code >= 0xD800 && *code < 0xE000;  // Python keeps a lone surrogate,
                                                               // UTF-8 cannot
    if constexpr (kDecode) base::append_utf8(lone_half ? kReplacement : *code, *out);
    return at;
  }

  const char* begin_;
  const char* end_;
  Visitor& visitor_;
  bool is_plain_ = true;  ///< the last string was ASCII without escapes
  JsonFault fault_{};
};

}  // namespace mllog
