// Writes JSON documents and flat listings.
#include "runner/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runner/base/json_text.h"
#include "runner/base/replaced_file.h"
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
  if (!value.is_array()) return base::json_line(value);
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + plain_text(element);
  return text;
}

bool is_table(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& row) {
           return row.is_object() && std::all_of(row.begin(), row.end(),
                                                 [](const Json& v) { return !v.is_structured(); });
         });
}

/// Names of the columns, and whether each contains text.
std::vector<std::pair<std::string, bool>> columns_of(const Json& table) {
  std::vector<std::pair<std::string, bool>> names, numbers, texts;
  for (const auto& [key, value] : table.front().items()) {
    const bool is_text = std::any_of(table.begin(), table.end(),
                                     [&](const Json& row) { return row.at(key).is_string(); });
    (key == "name" ? names : is_text ? texts : numbers).emplace_back(key, is_text);
  }
  names.insert(names.end(), numbers.begin(), numbers.end());
  names.insert(names.end(), texts.begin(), texts.end());
  return names;
}

/// All rows must have the same members.
void print_table(const std::string& title, const Json& table, std::ostream& out) {
  const auto cell = [](const Json& value) {
    if (value.is_null()) return std::string("-");
    return value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                                   : base::printable(plain_text(value));
  };
  std::vector<std::string> lines(table.size() + 1);
  for (const auto& [key, is_text] : columns_of(table)) {
    std::vector<std::string> column = {key};
    for (const Json& row : table) column.push_back(cell(row.at(key)));
    std::size_t width = 0;
    for (const std::string& text : column) width = std::max(width, text.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += is_text ? fmt::format("{:<{}}  ", column[i], width)
                          : fmt::format("{:>{}}  ", column[i], width);
    }
  }
  out << '\n' << base::printable(title) << '\n';
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

void flatten(const Json& value, const std::string& path, Lines& lines) {
  if (is_table(value)) return;
  if (is_plain(value)) {
    lines.emplace_back(base::printable(path), base::printable(plain_text(value)));
    return;
  }
  for (const auto& [key, member] : value.items()) {
    flatten(member, path.empty() ? key : path + "." + key, lines);
  }
}

void print_tables(const Json& value, const std::string& path, std::ostream& out) {
  if (is_table(value)) return print_table(path, value, out);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    print_tables(member, path.empty() ? key : path + "." + key, out);
  }
}

}  // namespace

void write_document(const Json& document, const std::string& target, std::ostream& out) {
  const std::string text = base::json_text(document, 2);
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
  print_tables(facts, "", out);
  out << std::flush;
}

}  // namespace runner
