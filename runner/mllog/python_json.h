// JSON as Python's json module reads and writes it, the dialect of MLPerf logs: bare NaN and
// Infinity, ASCII only, separators with a blank, the last duplicate wins. Validating text is much
// faster than decoding it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runner/mllog/key_table.h"

namespace mllog {

/// `value` as json.dumps writes it: separators ", " and ": ", non-ASCII as \uXXXX, bare NaN and
/// infinities, doubles in the shortest form that reads back the same (0.1, 1e-05, 2.0). Bytes that
/// are not UTF-8 become U+FFFD.
std::string to_python_json(const nlohmann::ordered_json& value);

/// Why a text is not JSON, and the offset of the offending byte.
struct JsonFault {
  std::size_t offset;
  std::string reason;
};

/// `text` as json.loads reads it. Of members with the same name the last wins. Bytes that are not
/// UTF-8 are read as Latin-1. Integers beyond 64 bits become doubles. Malformed text gives a
/// JsonFault, never an exception.
std::variant<nlohmann::json, JsonFault> parse_python_json(std::string_view text);

class JsonMember;

/// A view of a well-formed value's text, decoded on request. Valid as long as the text.
class JsonText {
 public:
  /// An absent value.
  JsonText() = default;
  /// `text` must be well-formed and without surrounding blanks.
  explicit JsonText(std::string_view text) : text_(text) {}
  /// A string with its quotes; it must be ASCII without escapes.
  static JsonText plain(std::string_view quoted) {
    JsonText text(quoted);
    text.is_plain_ = true;
    return text;
  }
  /// The same object with known members; `members` must live as long as the text.
  JsonText with(std::span<const JsonMember> members) const {
    JsonText text = *this;
    text.members_ = members;
    return text;
  }

  std::string_view text() const { return text_; }
  bool is_absent() const { return text_.empty(); }
  bool is_null() const { return text_ == "null"; }
  bool is_object() const { return text_.starts_with('{'); }
  bool is_string() const { return text_.starts_with('"'); }
  /// Includes NaN and the infinities, but not true and false.
  bool is_number() const;

  /// The value as from parse_python_json(); null if absent.
  nlohmann::json decoded() const;
  std::optional<double> number() const;
  std::optional<std::string> string() const;
  /// The undecoded content of a string if it is ASCII without escapes.
  std::optional<std::string_view> plain_string() const;
  /// The value of an object's member; absent if this is no object or lacks it.
  JsonText member(std::string_view name) const;

 private:
  std::string_view text_;
  std::span<const JsonMember> members_;  ///< empty: found by parsing the text
  bool is_plain_ = false;                ///< false: unknown whether a string is plain
};

/// A member of an object.
class JsonMember {
 public:
  JsonMember(std::string_view quoted, JsonText its_value, bool is_plain)
      : quoted_name(quoted), value(its_value), is_plain_name(is_plain) {}

  std::string_view quoted_name;  ///< with quotes, not decoded
  JsonText value;
  bool is_plain_name;  ///< ASCII without escapes

  bool is_named(std::string_view name) const {
    if (!is_plain_name) return is_named_in_escapes(name);
    return is_same_text({quoted_name.data() + 1, quoted_name.size() - 2}, name);
  }

 private:
  bool is_named_in_escapes(std::string_view name) const;
};

/// Checks that `text` is one value, with optional surrounding blanks. Returns the value or the
/// reason why not. If it is an object, sets `members` to its members in order; otherwise clears
/// them.
std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::vector<JsonMember>& members);

/// A requested member and its value; absent if the object lacks it.
struct WantedMember {
  explicit WantedMember(std::string_view its_name) : name(its_name) {}

  std::string_view name;
  JsonText value;                              ///< of the last one of this name
  bool repeats = false;                        ///< there are several
  std::size_t inner_begin = 0, inner_end = 0;  ///< range of its own members in `inner`
};

/// The same, but finds only the `wanted` members. Values that are objects refer to their own
/// members, which are stored in `inner`.
std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::span<WantedMember> wanted,
                                                   std::vector<JsonMember>& inner);

}  // namespace mllog
