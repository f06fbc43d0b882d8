// Values that are checked and not yet decoded.
// Hides how the likely kinds are read without the parser.
#include <charconv>
#include <utility>

#include "runner/mllog/python_json.h"

namespace mllog {

using Json = nlohmann::json;

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
  double value = 0.0;
  const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (error == std::errc() && end == text_.data() + text_.size()) return value;
  return decoded().get<double>();  // too large or too small
}

std::optional<std::string> JsonText::string() const {
  if (!is_string()) return {};
  Json value = decoded();
  return std::move(value.get_ref<std::string&>());
}

}  // namespace mllog
