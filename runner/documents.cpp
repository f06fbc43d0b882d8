// JSON documents and flat listings.
// Hides the recursion.
#include "runner/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runner/base/output_file.h"
#include "runner/result_files.h"

namespace runner {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<std::pair<std::string, std::string>>;

bool is_plain(const Json& value) {
  return !value.is_object() &&
         (!value.is_array() || std::none_of(value.begin(), value.end(),
                                            [](const Json& v) { return v.is_structured(); }));
}

std::string plain_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + plain_text(element);
  return text;
}

void flatten(const Json& value, const std::string& path, Lines& lines) {
  if (is_plain(value)) {
    lines.emplace_back(path, plain_text(value));
    return;
  }
  for (const auto& [key, member] : value.items()) {
    flatten(member, path.empty() ? key : path + "." + key, lines);
  }
}

}  // namespace

void write_document(const Json& document, const std::string& target, std::ostream& out) {
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (target == "-") {
    out << text << std::flush;
  } else {
    base::write_file(target, text);
  }
}

void print_facts(const Json& facts, std::ostream& out) {
  Lines lines;
  flatten(facts, "", lines);
  std::size_t width = 0;
  for (const auto& [path, text] : lines) width = std::max(width, path.size());
  for (const auto& [path, text] : lines) out << fmt::format("{:<{}}  {}\n", path, width, text);
  out << std::flush;
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace runner
