// Reads small files next to results: descriptions, factors, options.
#include "analysis/side_files.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <variant>

#include "runner/base/strict_json.h"
#include "runner/mllog/python_json.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t kLargestSideFile = 16u << 20;

}  // namespace

std::optional<std::string> read_side_text(const fs::path& path, std::string& problem) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    problem = "expected a regular file";
    return std::nullopt;
  }
  const std::uintmax_t size = fs::file_size(path, failed);
  if (failed || size > kLargestSideFile) {
    problem = failed ? failed.message() : "is larger than 16 MiB";
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) {
    problem = "cannot be read";
    return std::nullopt;
  }
  return text;
}

json side_object(std::string_view text, std::string& problem) {
  std::variant<json, mllog::JsonFault> parsed = mllog::parse_python_json(text);
  if (const auto* const fault = std::get_if<mllog::JsonFault>(&parsed)) {
    problem = fmt::format("byte {}: not valid JSON: {}", fault->offset, fault->reason);
    return json::object();
  }
  json& value = std::get<json>(parsed);
  if (value.is_object()) return std::move(value);
  problem = "expected a JSON object, found " + base::brief_json(value);
  return json::object();
}

std::optional<double> scaling_factor(std::string_view text, std::string& problem) {
  constexpr char kFactor[] = "scaling_factor";
  const json object = side_object(text, problem);
  if (!problem.empty()) return std::nullopt;
  const auto found = object.find(kFactor);
  if (found != object.end() && found->is_number()) return found->get<double>();
  problem = fmt::format("expected a number {}, found {}", kFactor,
                        found == object.end() ? "none" : base::brief_json(*found));
  return std::nullopt;
}

std::optional<double> read_scaling_factor(const fs::path& path, std::string& problem) {
  const std::optional<std::string> text = read_side_text(path, problem);
  return text ? scaling_factor(*text, problem) : std::nullopt;
}

}  // namespace analysis
