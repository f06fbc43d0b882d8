// The lists that `trainmark check` prints instead of judging.
#include "analysis/command/check_lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "analysis/findings/convergence_plot.h"
#include "analysis/findings/rule_catalogue.h"
#include "analysis/report/json/points.h"
#include "analysis/report/json/rules.h"
#include "analysis/report/svg/plot.h"
#include "analysis/report/text/points.h"
#include "analysis/report/text/rules.h"
#include "analysis/submission/reference_points.h"
#include "runner/base/error.h"
#include "runner/base/json_text.h"
#include "runner/mllog/rules/choice.h"

namespace analysis::command {
namespace {

using base::ConfigError;
using mllog::rules::Round;
using mllog::rules::RuleBook;
using mllog::rules::Wanted;
using submission::ReferenceSet;

/// The rounds that --usage and --round allow, oldest first.
std::vector<const Round*> rounds_left(const RuleBook& book, const CheckOptions& options) {
  const auto choice = mllog::rules::choose_by_path(book, Wanted{options.usage, options.round}, "");
  if (choice) return {choice->round};
  std::vector<const Round*> rounds;
  for (const Round& round : book.rounds()) {
    if (options.usage.empty() || round.usage == options.usage) rounds.push_back(&round);
  }
  return rounds;
}

/// The newest allowed round that has rules for the benchmark.
const Round& round_of_rules(const RuleBook& book, const CheckOptions& options) {
  mllog::rules::require_rules(book, Wanted{options.usage, options.round});
  const std::vector<const Round*> rounds = rounds_left(book, options);
  const auto newest = std::find_if(rounds.rbegin(), rounds.rend(), [&](const Round* round) {
    return round->judges(options.rules);
  });
  if (newest != rounds.rend()) return **newest;
  if (rounds.size() != 1) {
    throw ConfigError("--rules: no round has rules for the benchmark " + options.rules);
  }
  throw ConfigError(fmt::format("--rules: {} has no rules for the benchmark {}; it lists {}",
                                rounds[0]->name(), options.rules,
                                fmt::join(rounds[0]->benchmarks, ", ")));
}

/// The reference points of the newest allowed round that has any, or the user's own.
ReferenceSet points_to_list(const RuleBook& book, const CheckOptions& options) {
  if (!options.custom_rcps.empty()) {
    ReferenceSet own =
        submission::read_custom_points(options.custom_rcps, options.round, options.rcps);
    if (!own.points.empty()) return own;
    throw ConfigError(fmt::format("{}: holds no points for {}", options.custom_rcps, options.rcps));
  }
  const std::vector<const Round*> left = rounds_left(book, options);
  for (auto round = left.rbegin(); round != left.rend(); ++round) {
    if (auto set = submission::reference_points((*round)->usage, (*round)->number, options.rcps)) {
      return *set;
    }
  }
  std::set<std::string> known;
  std::set<std::string> rounds;
  for (const ReferenceSet& set : submission::all_reference_points()) {
    known.insert(set.benchmark);
    if (set.benchmark == options.rcps) rounds.insert(set.usage + "-" + set.round);
  }
  const std::string in = left.size() == 1 ? " in " + left[0]->name() : "";
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

Listing list_of_points(const ReferenceSet& points, const submission::RcpEraFacts& era,
                       const CheckOptions& options, std::size_t width) {
  std::optional<submission::Bootstrap> drawn;
  if (options.bootstrap) {
    drawn = submission::bootstrap(points, era.era, *options.bootstrap, options.seed.value_or(0));
  }
  Listing list;
  list.text = text_by([&](std::ostream& out) {
    report::write_points_text(out, points, era, width);
    if (drawn) report::write_bootstrap_text(out, points, *drawn, width);
  });
  list.json = report::points_json_text(points, era, drawn);
  if (!options.plot.empty()) {
    list.svg = report::plots_svg(std::vector{convergence_plot(points, {era.era})});
  }
  return list;
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
    const std::string text = explain_rule(options.explain, book);
    return Listing{text, base::json_text(nlohmann::json{{"schema", 1}, {"text", text}}), ""};
  }
  if (options.rounds) {
    return Listing{text_by([&](std::ostream& out) { report::write_rounds_text(out, book, width); }),
                   report::rounds_json_text(book), ""};
  }
  if (!options.rules.empty()) {
    const mllog::rules::Ruleset ruleset = book.ruleset(round_of_rules(book, options));
    return Listing{text_by([&](std::ostream& out) {
                     report::write_rules_text(out, ruleset, options.rules, width);
                   }),
                   report::rules_json_text(ruleset, options.rules), ""};
  }
  if (options.rcps.empty()) return std::nullopt;
  return list_of_points(points_to_list(book, options), era_of(options), options, width);
}

}  // namespace analysis::command
