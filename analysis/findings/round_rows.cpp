// The systems of a round, a row each.
#include "analysis/findings/round_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "analysis/fields.h"
#include "analysis/numbers.h"
#include "analysis/system_fields.h"

namespace analysis {
namespace {

std::optional<double> figure(const SystemFacts& facts, const char* name) {
  return number(find_field(system_fields(), name)->get(facts));
}

bool has_rate_of_models(const SystemReport& system) {
  return figure(system.facts, "models_per_min").has_value();
}

/// A path of a submission, <submitter>/results/<system>/..., names its submitter.
RoundRow row_of(const SystemReport& system) {
  const std::string& described = system.facts.description.submitter;
  const std::filesystem::path path = system.name;
  const auto results = std::find(path.begin(), path.end(), "results");
  if (results == path.begin() || results == path.end()) {
    return {&system, described.empty() ? "-" : described, label_of(system)};
  }
  const auto submitter = std::prev(results);
  std::filesystem::path label;
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (part != submitter && part != results && *part != system.facts.benchmark) label /= *part;
  }
  return {&system, described.empty() ? submitter->string() : described,
          with_time_unit(label.string(), system.facts)};
}

/// Absent scores come last.
bool has_better_score(const RoundRow& one, const RoundRow& other) {
  const auto score = figure(one.system->facts, "score_min");
  const auto other_score = figure(other.system->facts, "score_min");
  return score && (!other_score || *score < *other_score);
}

}  // namespace

std::map<std::string, std::vector<RoundRow>> rows_of_round(const Report& report) {
  std::map<std::string, std::vector<RoundRow>> rows;
  for (const SystemReport& system : report.systems) {
    rows[system.facts.benchmark].push_back(row_of(system));
  }
  for (auto& [benchmark, all] : rows) std::ranges::stable_sort(all, has_better_score);
  return rows;
}

bool is_round(const Report& report) {
  return report.systems.size() > 1 &&
         std::ranges::any_of(report.systems, [](const SystemReport& system) {
           return system.facts.score_s.has_value() || has_rate_of_models(system);
         });
}

std::vector<RoundColumn> columns_of_round(const Report& report) {
  const auto fixed = [](const char* name) {
    return [name](const SystemFacts& facts) {
      const auto value = figure(facts, name);
      return value ? fmt::format("{:.2f}", *value) : "-";
    };
  };
  std::vector<RoundColumn> columns = {
      {"units", "compute_units",
       [](const SystemFacts& facts) {
         return facts.compute_units ? digits_text(*facts.compute_units) : "-";
       }},
      {"runs", "successful",
       [](const SystemFacts& facts) {
         return fmt::format("{} of {}", facts.successful, facts.runs);
       }},
      {"score min", "score_min", fixed("score_min")},
      {"epochs", "olympic_epochs_run",
       [](const SystemFacts& facts) { return short_number(facts.olympic.epochs_run); }},
      {"samples/s", "olympic_train_throughput",
       [](const SystemFacts& facts) { return short_number(facts.olympic.train_throughput); }}};
  if (std::ranges::any_of(report.systems, has_rate_of_models)) {
    columns.push_back({"models/min", "models_per_min", fixed("models_per_min")});
  }
  return columns;
}

}  // namespace analysis
