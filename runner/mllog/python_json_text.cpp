// Decoding of validated values; common kinds are read without the parser.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "runner/mllog/python_json.h"

namespace mllog {

using Json = nlohmann::json;

namespace {

/// An integer that a double holds exactly: the most common number in logs.
std::optional<std::int64_t> short_integer(std::string_view text) {
  constexpr std::size_t kMostDigits = 15;
  if (text.size() > kMostDigits) return {};
  std::int64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return {};
    value = 10 * value + (digit - '0');
  }
  return value;
}

}  // namespace

bool JsonMember::is_named_in_escapes(std::string_view name) const {
  return JsonText(quoted_name).string() == name;
}

bool JsonText::is_number() const {
  if (text_.empty()) return false;
  const char first = text_[0];
  return first == '-' || (first >= '0' && first <= '9') || first == 'N' || first == 'I';
}

Json JsonText::decoded() const {
  if (is_absent()) return nullptr;
  auto parsed = parse_python_json(text_);
  if (auto* value = std::get_if<Json>(&parsed)) return std::move(*value);
  return nullptr;  // not well-formed after all
}

std::optional<double> JsonText::number() const {
  if (!is_number()) return {};
  if (const auto integer = short_integer(text_)) return static_cast<double>(*integer);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (error == std::errc() && end == text_.data() + text_.size()) return value;
  return decoded().get<double>();  // too large or too small
}

std::optional<std::string_view> JsonText::plain_string() const {
  if (!is_string()) return {};
  const std::string_view inside = text_.substr(1, text_.size() - 2);
  const auto is_as_it_stands = [](char c) {
    return c != '\\' && static_cast<unsigned char>(c) < 0x80;
  };
  if (!is_plain_ && !std::all_of(inside.begin(), inside.end(), is_as_it_stands)) return {};
  return inside;
}

std::optional<std::string> JsonText::string() const {
  if (!is_string()) return {};
  if (const auto plain = plain_string()) return std::string(*plain);
  Json value = decoded();
  return std::move(value.get_ref<std::string&>());
}

}  // namespace mllog
