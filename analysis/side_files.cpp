// Reads small files next to results: descriptions, factors, options.
#include "analysis/side_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "runner/base/input_file.h"
#include "runner/base/json_fault.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/python_json.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Adds the members that the object `text` and the objects in it have twice. `text` is a part of
/// `whole`; `path` is its own, with a slash at the end unless it is the whole.
void add_repeated(std::string_view whole, std::string_view text, const std::string& path,
                  std::vector<std::string>& repeated) {
  std::vector<mllog::JsonMember> members;
  (void)mllog::scan_python_json(text, members);
  const auto place = [&](const mllog::JsonMember& member) {
    return base::place_in_text(whole,
                               static_cast<std::size_t>(member.quoted_name.data() - whole.data()));
  };
  std::map<std::string, const mllog::JsonMember*> seen;
  for (const mllog::JsonMember& member : members) {
    const std::string name = mllog::JsonText(member.quoted_name).string().value_or("");
    const auto [first, is_new] = seen.emplace(name, &member);
    if (!is_new) {
      repeated.push_back(fmt::format("{}{}: given twice, in {} and in {}; the last one counts",
                                     path, name, place(*first->second), place(member)));
    }
    if (member.value.is_object()) {
      add_repeated(whole, member.value.text(), path + name + "/", repeated);
    }
  }
}

}  // namespace

std::optional<std::string> read_side_text(const fs::path& path, std::string& problem) {
  return base::read_text(path.string(), problem);
}

std::vector<std::string> repeated_members(std::string_view text) {
  std::vector<std::string> repeated;
  add_repeated(text, text, "", repeated);
  return repeated;
}

json side_object(std::string_view text, std::string& problem) {
  if (text.starts_with(kByteOrderMark)) {
    problem =
        "line 1, column 1: not valid JSON: begins with a byte order mark; save it as UTF-8 without "
        "one";
    return json::object();
  }
  std::variant<json, mllog::JsonFault> parsed = mllog::parse_python_json(text);
  if (const auto* const fault = std::get_if<mllog::JsonFault>(&parsed)) {
    const std::string encoding = base::other_encoding(text);
    problem = fmt::format("{}: not valid JSON: {}", base::place_in_text(text, fault->offset),
                          encoding.empty() ? fault->reason : "expected UTF-8, found " + encoding);
    return json::object();
  }
  json& value = std::get<json>(parsed);
  if (value.is_object()) return std::move(value);
  problem = "expected a JSON object, found " + base::brief_json(value);
  return json::object();
}

std::optional<double> scaling_factor(const json& object, std::string& problem) {
  constexpr char kFactor[] = "scaling_factor";
  const auto found = object.find(kFactor);
  if (found != object.end() && found->is_number()) return found->get<double>();
  problem = fmt::format("expected a number {}, found {}", kFactor,
                        found == object.end() ? "none" : base::brief_json(*found));
  return std::nullopt;
}

std::optional<double> read_scaling_factor(std::string_view text, std::string& problem) {
  const json object = side_object(text, problem);
  return problem.empty() ? scaling_factor(object, problem) : std::nullopt;
}

}  // namespace analysis
