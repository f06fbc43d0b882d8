// JSON as Python's json module reads and writes it: the dialect of MLPerf logs.
// Hides the differences: bare NaN and Infinity, ASCII only, separators with a blank, last duplicate
// wins; and that text is checked far faster than it is decoded.
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

/// `value` as json.dumps writes it: ", " and ": " between, non-ASCII as \uXXXX, NaN and infinities
/// bare, doubles as short as they read back (0.1, 1e-05, 2.0). Bytes that are not UTF-8 become
/// U+FFFD.
std::string to_python_json(const nlohmann::ordered_json& value);

/// Why text is no JSON, and the byte of it (from 0) that shows it.
struct JsonFault {
  std::size_t offset;
  std::string reason;
};

/// `text` as json.loads reads it. Of members of one name the last wins. Bytes that are not UTF-8
/// are taken as latin-1. Integers beyond 64 bits become doubles. Never throws for what the text
/// holds.
std::variant<nlohmann::json, JsonFault> parse_python_json(std::string_view text);

class JsonMember;

/// A value whose text is known to be well-formed, decoded when somebody asks for it. Lives as long
/// as that text.
class JsonText {
 public:
  /// Absent.
  JsonText() = default;
  /// Well-formed and without blanks around it.
  explicit JsonText(std::string_view text) : text_(text) {}
  /// A string that is ASCII without escapes, with its quotes.
  static JsonText plain(std::string_view quoted) {
    JsonText text(quoted);
    text.is_plain_ = true;
    return text;
  }
  /// An object whose members are known, too; they live as long.
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
  /// NaN and the infinities too; true and false are none.
  bool is_number() const;

  /// As parse_python_json() gives it; null when absent.
  nlohmann::json decoded() const;
  std::optional<double> number() const;
  std::optional<std::string> string() const;
  /// The string as it stands in the text, where it is ASCII without escapes.
  std::optional<std::string_view> plain_string() const;
  /// Of an object; absent where this is none or has no such member.
  JsonText member(std::string_view name) const;

 private:
  std::string_view text_;
  std::span<const JsonMember> members_;  ///< none: to be looked for in the text
  bool is_plain_ = false;                ///< false: a string may be plain nevertheless
};

/// A member of an object.
class JsonMember {
 public:
  JsonMember(std::string_view quoted, JsonText its_value, bool is_plain)
      : quoted_name(quoted), value(its_value), is_plain_name(is_plain) {}

  std::string_view quoted_name;  ///< with its quotes, not decoded
  JsonText value;
  bool is_plain_name;  ///< ASCII without escapes

  bool is_named(std::string_view name) const {
    if (!is_plain_name) return is_named_in_escapes(name);
    return is_same_text({quoted_name.data() + 1, quoted_name.size() - 2}, name);
  }

 private:
  bool is_named_in_escapes(std::string_view name) const;
};

/// Whether `text` is one value, blanks around it allowed: that value, or why not. If it is an
/// object, `members` gets its members, in their order; else none.
std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::vector<JsonMember>& members);

/// A member that is asked for, and its value: absent where the object has none.
struct WantedMember {
  explicit WantedMember(std::string_view its_name) : name(its_name) {}

  std::string_view name;
  JsonText value;
  std::size_t inner_begin = 0, inner_end = 0;  ///< its members among those that are kept
};

/// As above, but looks for some members only. Of those that are objects the values know their
/// members, which `inner` keeps.
std::variant<JsonText, JsonFault> scan_python_json(std::string_view text,
                                                   std::span<WantedMember> wanted,
                                                   std::vector<JsonMember>& inner);

}  // namespace mllog
