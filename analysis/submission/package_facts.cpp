// What the rounds ask of a submission's layout and system descriptions.
// Hides the data file.
#include "analysis/submission/package_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/submission/reference_points.h"
#include "analysis/submission/submission_rules.h"
#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"

namespace analysis::submission {
namespace {

using base::ObjectReader;
using nlohmann::json;
using Names = std::vector<std::string>;

constexpr char kFile[] = "package.json";

base::Check<Names> not_empty_names() {
  return {"must hold names, none of them empty", [](const Names& names) {
            const auto empty = [](const std::string& name) { return name.empty(); };
            return !names.empty() && std::none_of(names.begin(), names.end(), empty);
          }};
}

/// The members of an object whose keys are free: "benchmarks" has a key for each round.
std::vector<std::string> keys_of(const json& root, const std::string& pointer) {
  Names keys;
  const json::json_pointer at(pointer);
  if (!root.contains(at) || !root[at].is_object()) return keys;
  for (const auto& [key, value] : root[at].items()) keys.push_back(key);
  return keys;
}

UsageFacts read_usage(const json& root, const ObjectReader& in, const std::string& usage) {
  UsageFacts facts;
  const ObjectReader benchmarks = in.object("benchmarks", "of each round");
  for (const std::string& round : keys_of(root, "/" + usage + "/benchmarks")) {
    facts.benchmarks[round] = benchmarks.required(round, "its benchmarks", not_empty_names());
  }
  const ObjectReader runs = in.object("runs_required", "of each benchmark");
  for (const std::string& name : keys_of(root, "/" + usage + "/runs_required")) {
    facts.runs_required[name] = runs.required(name, "log files of a folder", base::at_least(1));
  }
  if (in.has("failing_runs_tolerated")) {
    const ObjectReader tolerated = in.object("failing_runs_tolerated", "where it is not one");
    for (const std::string& name : keys_of(root, "/" + usage + "/failing_runs_tolerated")) {
      facts.failing_runs_tolerated[name] =
          tolerated.required(name, "runs of a folder that may fail", base::at_least(1));
    }
  }
  for (const auto& [round, names] : facts.benchmarks) {
    for (const std::string& name : names) {
      if (facts.runs_required.contains(name)) continue;
      throw base::ConfigError(fmt::format("{}: must give the runs of {}, a benchmark of round {}",
                                          runs.where(), name, round));
    }
  }
  return facts;
}

SystemDescriptionFacts read_description(const ObjectReader& in) {
  const auto names = [&](const char* key, const char* help) {
    return in.required(key, help, not_empty_names());
  };
  SystemDescriptionFacts facts;
  facts.required = names("required", "fields that must be there");
  facts.never_empty = names("never_empty", "fields that must say something");
  facts.whole_numbers = names("whole_numbers", "fields that count something");
  facts.text_for_the_official_checker =
      names("text_for_the_official_checker", "fields whose numbers stop the official checker");
  facts.divisions = names("divisions", "values of division");
  facts.statuses = names("statuses", "values of status in training");
  facts.statuses_since_training =
      in.required("statuses_since_training", "first round that asks for them", base::not_empty());
  return facts;
}

void read_source(const ObjectReader& in) {
  for (const char* const key : {"repository", "commit", "path", "license"}) {
    in.required(key, "where the facts were taken from", base::not_empty());
  }
}

/// The first number of `text`, which then begins behind it and the dot that follows.
long take_number(std::string_view& text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return value;
}

std::pair<long, long> numbers_of(const std::string& round) {
  std::string_view text = round;
  if (text.starts_with('v')) text.remove_prefix(1);
  const long first = take_number(text);
  return {first, take_number(text)};
}

}  // namespace

const std::vector<std::string>* PackageFacts::benchmarks(const std::string& usage,
                                                         const std::string& round) const {
  const auto facts = usages.find(usage);
  if (facts == usages.end()) return nullptr;
  const auto found = facts->second.benchmarks.find(short_round(round));
  return found == facts->second.benchmarks.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> PackageFacts::runs_required(const std::string& usage,
                                                        const std::string& benchmark) const {
  const auto facts = usages.find(usage);
  if (facts == usages.end()) return std::nullopt;
  const auto found = facts->second.runs_required.find(benchmark);
  if (found == facts->second.runs_required.end()) return std::nullopt;
  return found->second;
}

std::int64_t PackageFacts::failing_runs_tolerated(const std::string& usage,
                                                  const std::string& benchmark) const {
  const auto facts = usages.find(usage);
  if (facts == usages.end()) return 1;
  const auto found = facts->second.failing_runs_tolerated.find(benchmark);
  return found == facts->second.failing_runs_tolerated.end() ? 1 : found->second;
}

PackageFacts parse_package_facts(const std::string& text, const std::string& name) {
  json root;
  try {
    root = base::parse_strict_json(text, name, base::JsonComments::kRefused);
  } catch (const base::DataError& e) {
    throw base::ConfigError(e.what());
  }
  const ObjectReader in(root, name);
  PackageFacts facts;
  read_source(in.object("source", "where the facts were taken from"));
  for (const char* const usage : {"training", "hpc"}) {
    facts.usages[usage] = read_usage(root, in.object(usage, "a working group"), usage);
  }
  facts.system_description = read_description(in.object("system_description", "its fields"));
  in.reject_unknown();
  return facts;
}

const PackageFacts& package_facts() {
  static const PackageFacts facts = [] {
    for (const base::EmbeddedFile& file : embedded_submission_rules()) {
      if (file.name == kFile) return parse_package_facts(std::string(file.text), kFile);
    }
    throw base::Error(base::ExitCode::kInternal, "package.json is not embedded");
  }();
  return facts;
}

bool at_least_round(const std::string& round, const std::string& other) {
  return numbers_of(round) >= numbers_of(other);
}

}  // namespace analysis::submission
