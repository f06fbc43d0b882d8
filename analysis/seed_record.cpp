// Reads the seed record of a log.
#include "analysis/seed_record.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/base/strict_json.h"

namespace analysis {
namespace {

using mllog::JsonText;

/// The integer in `text` without surrounding blanks, sign + and leading zeros; "" if it is none.
std::string integer_in(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return "";
  while (text.size() > 1 && text.starts_with('0')) text.remove_prefix(1);
  return (is_negative && text != "0" ? "-" : "") + std::string(text);
}

/// The seed as Python's int() converts it: truncates fractions, accepts digit strings and booleans.
std::string seed_of(const JsonText& value) {
  if (value.text() == "true") return "1";
  if (value.text() == "false") return "0";
  if (const auto text = value.string()) return integer_in(*text);
  const std::string whole = integer_in(value.text());
  if (!whole.empty()) return whole;
  const std::optional<double> number = value.number();
  if (!number || !std::isfinite(*number)) return "";
  return integer_in(fmt::format("{:.0f}", std::trunc(*number)));
}

}  // namespace

SeedRecord seed_record(const mllog::Record& record) {
  SeedRecord seed{record.line, record.column, seed_of(record.value), {}, {}};
  const JsonText file = record.metadata.member("file");
  const JsonText line = record.metadata.member("lineno");
  if (!file.is_absent() && !line.is_absent()) {
    const std::optional<std::string> name = file.string();
    seed.place = fmt::format("{}:{}", name ? *name : std::string(file.text()), line.text());
  }
  if (seed.seed.empty()) {
    seed.problem =
        fmt::format("expected an integer, found {}", base::brief_json(record.value.decoded()));
  } else if (seed.place.empty()) {
    seed.problem = "expected metadata file and lineno, found none";
  }
  return seed;
}

}  // namespace analysis
