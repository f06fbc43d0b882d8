// Rules and rounds as text.
#include "analysis/report/text/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "analysis/findings/rules_of_benchmark.h"
#include "analysis/report/text/page.h"
#include "runner/mllog/rules/words.h"

namespace analysis::report {
namespace {

using mllog::rules::RuleFile;
using mllog::rules::Ruleset;

}  // namespace

void write_rules_text(std::ostream& out, const Ruleset& ruleset, const std::string& benchmark,
                      std::size_t width) {
  TextPage page(out, width);
  page.title(fmt::format("Rules of {} for {}", ruleset.name, benchmark));
  page.paragraph("Source: " + ruleset.round.source);
  page.paragraph(
      "A log is judged by \"common\" and by the files that its records choose. A later file's rule "
      "for a key replaces an earlier one's.");
  bool is_own = false;
  for (const RuleFile* file : files_for(ruleset, benchmark)) {
    page.heading(file->name, {});
    for (const auto& set : file->begins_with) page.item("begins with " + set.text());
    for (const auto& formula : file->at_end) {
      page.item("when the log ends, this must hold: " + formula.text());
    }
    is_own = is_own || file->name.ends_with("_" + benchmark);
    for (const mllog::rules::Rule& rule : file->rules) {
      page.item(fmt::format("{}: {}", rule.key, fmt::join(mllog::rules::words(rule), "; ")));
    }
  }
  if (!is_own) {
    page.paragraph("This program has no rules of " + benchmark +
                   " itself: only the common ones are applied.");
  }
}

void write_rounds_text(std::ostream& out, const mllog::rules::RuleBook& book, std::size_t width) {
  TextPage page(out, width);
  page.title("Rounds");
  for (const mllog::rules::Round& round : book.rounds()) {
    if (!round.no_rules_because.empty()) {
      page.item(fmt::format("{}: no rules, as {}", round.name(), round.no_rules_because));
      continue;
    }
    std::string closed;
    if (!round.closed_benchmarks.empty()) {
      closed = fmt::format("; closed division only: {}", fmt::join(round.closed_benchmarks, ", "));
    }
    const std::string source = round.source.empty() ? "" : "; rules: " + round.source;
    page.item(fmt::format("{} ({}): {}{}{}", round.name(),
                          round.published.empty() ? "no date known" : round.published,
                          fmt::join(round.benchmarks, ", "), closed, source));
  }
}

}  // namespace analysis::report
