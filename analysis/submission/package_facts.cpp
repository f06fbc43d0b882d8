// The requirements of the rounds on a submission's layout and system descriptions.
#include "analysis/submission/package_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/submission/reference_points.h"
#include "analysis/submission/submission_rules.h"
#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/strict_json.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/rules/rule_book.h"

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

void require_source(const ObjectReader& in) {
  for (const char* const key : {"repository", "commit", "path", "license"}) {
    in.required(key, "where the facts were taken from", base::not_empty());
  }
}

}  // namespace

std::vector<std::string> benchmarks_of_round(const std::string& usage, const std::string& round) {
  const mllog::rules::Round* const found =
      mllog::rules::embedded_rule_book().find(usage, short_round(round));
  if (found == nullptr) return {};
  std::vector<std::string> names = found->benchmarks;
  names.insert(names.end(), found->closed_benchmarks.begin(), found->closed_benchmarks.end());
  std::erase_if(names, [&](const std::string& name) { return !found->judges(name); });
  return names;
}

std::optional<std::int64_t> runs_required(const std::string& usage, const std::string& round,
                                          const std::string& benchmark) {
  const mllog::Benchmark* const facts = mllog::find_benchmark(benchmark);
  if (facts == nullptr || facts->usage != usage) return std::nullopt;
  return facts->runs(short_round(round));
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
  require_source(in.object("source", "where the facts were taken from"));
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
  return !mllog::is_earlier_round(short_round(round), short_round(other));
}

}  // namespace analysis::submission
