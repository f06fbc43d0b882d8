// What `trainmark check` lists instead of judging.
// Hides which round is meant.
#include "analysis/command/check_lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "analysis/report/rule_catalogue.h"
#include "analysis/report/write_check.h"
#include "analysis/submission/reference_points.h"
#include "runner/base/error.h"
#include "runner/mllog/rules/choice.h"

namespace analysis::command {
namespace {

using base::ConfigError;
using mllog::rules::Round;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;
using submission::ReferenceSet;

/// The newest round that the flags leave and that has rules for the benchmark.
const Round& round_of_rules(const RuleBook& book, const CheckOptions& options) {
  const Wanted wanted{options.usage, options.round};
  const auto choice = mllog::rules::choose_by_path(book, wanted, "");
  const Round* newest = nullptr;
  std::vector<std::string> known;
  for (const Round& round : book.rounds()) {
    const bool wanted_usage = options.usage.empty() || round.usage == options.usage;
    if (!wanted_usage || (choice && choice->round != &round)) continue;
    if (round.judges(options.rules)) newest = &round;
    known = round.benchmarks;
  }
  if (newest != nullptr) return *newest;
  if (!choice) throw ConfigError("--rules: no round has rules for the benchmark " + options.rules);
  throw ConfigError(fmt::format("--rules: {} has no rules for the benchmark {}; it lists {}",
                                choice->round->name(), options.rules, fmt::join(known, ", ")));
}

/// The set of the newest round that the flags leave, or of the user's own points.
ReferenceSet points_to_list(const RuleBook& book, const CheckOptions& options) {
  if (!options.custom_rcps.empty()) {
    ReferenceSet own =
        submission::read_custom_points(options.custom_rcps, options.usage, options.rcps);
    if (!own.points.empty()) return own;
    throw ConfigError(fmt::format("{}: holds no points for {}", options.custom_rcps, options.rcps));
  }
  const Wanted wanted{options.usage, options.round};
  const auto choice = mllog::rules::choose_by_path(book, wanted, "");
  std::optional<ReferenceSet> newest;
  std::set<std::string> known;
  for (const Round& round : book.rounds()) {
    if (!options.usage.empty() && round.usage != options.usage) continue;
    if (choice && choice->round != &round) continue;
    auto set = submission::reference_points(round.usage, round.number, options.rcps);
    if (set) newest = std::move(set);
  }
  if (newest) return *newest;
  std::set<std::string> rounds;
  for (const ReferenceSet& set : submission::all_reference_points()) {
    known.insert(set.benchmark);
    if (set.benchmark == options.rcps) rounds.insert(set.usage + "-" + set.round);
  }
  const std::string in = choice ? " in " + choice->round->name() : "";
  if (!rounds.empty()) {
    throw ConfigError(fmt::format("--rcps: no reference points for {}{}; there are some in {}",
                                  options.rcps, in, fmt::join(rounds, ", ")));
  }
  throw ConfigError(fmt::format("--rcps: no reference points for {}; there are some for {}",
                                options.rcps, fmt::join(known, ", ")));
}

template <class Write>
std::string text_by(const Write& write) {
  std::ostringstream text;
  write(text);
  return text.str();
}

}  // namespace

const submission::RcpEraFacts& era_of(const CheckOptions& options) {
  const auto eras = submission::rcp_eras();
  if (options.rcp_era.empty()) return eras.front();
  if (const auto* const era = submission::find_rcp_era(options.rcp_era)) return *era;
  std::vector<std::string_view> known;
  for (const submission::RcpEraFacts& one : eras) known.push_back(one.name);
  throw ConfigError(fmt::format("--rcp-era: expected one of {}, got {}", fmt::join(known, ", "),
                                options.rcp_era));
}

std::optional<Listing> listing(const CheckOptions& options, const RuleBook& book,
                               std::size_t width) {
  if (!options.explain.empty()) {
    const std::string text = report::explain_rule(options.explain, book);
    return Listing{text, nlohmann::json{{"schema", 1}, {"text", text}}.dump(1) + "\n"};
  }
  if (options.rounds) {
    return Listing{text_by([&](std::ostream& out) { report::write_rounds_text(out, book, width); }),
                   report::rounds_json_text(book)};
  }
  if (!options.rules.empty()) {
    const mllog::rules::Ruleset ruleset = book.ruleset(round_of_rules(book, options));
    return Listing{text_by([&](std::ostream& out) {
                     report::write_rules_text(out, ruleset, options.rules, width);
                   }),
                   report::rules_json_text(ruleset, options.rules)};
  }
  if (options.rcps.empty()) return std::nullopt;
  const ReferenceSet points = points_to_list(book, options);
  const submission::RcpEraFacts& era = era_of(options);
  return Listing{
      text_by([&](std::ostream& out) { report::write_points_text(out, points, era, width); }),
      report::points_json_text(points, era)};
}

}  // namespace analysis::command
