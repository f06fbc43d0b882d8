// Arbitrary bytes as a log that is judged, audited and summarized for a submission by any round's
// rules: a verdict with its reasons, never an exception or a crash. The first byte selects the
// round.
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/audit/audit.h"
#include "analysis/facts_of_log.h"
#include "analysis/log_parser.h"
#include "analysis/submission/package_log.h"
#include "runner/mllog/record_reader.h"
#include "runner/mllog/rules/judge.h"
#include "runner/mllog/rules/rule_book.h"
#include "tests/fuzz/memory_file.h"

namespace {

/// Every round that has rules.
const std::vector<mllog::rules::Ruleset>& rulesets() {
  static const std::vector<mllog::rules::Ruleset> all = [] {
    std::vector<mllog::rules::Ruleset> made;
    const mllog::rules::RuleBook book;
    for (const auto& round : book.rounds()) {
      if (round.no_rules_because.empty()) made.push_back(book.ruleset(round));
    }
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const mllog::rules::Ruleset& ruleset = rulesets()[data[0] % rulesets().size()];
  std::istringstream in(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  mllog::RecordReader reader(in);
  mllog::rules::Judge judge(ruleset), strict(ruleset, mllog::rules::Warnings::kAreErrors);
  analysis::LogCollector collector(reader);
  analysis::submission::PackageLogCollector package;
  while (const auto item = reader.next()) {
    std::visit(
        [&](const auto& one) {
          judge.add(one);
          strict.add(one);
          collector.add(one);
          package.add(one);
        },
        *item);
  }
  const mllog::rules::Judgement judgement = judge.judgement();
  // A failing verdict has a reason, and treating warnings as errors never turns a failure into a
  // pass.
  bool has_error = false;
  for (const auto& found : judgement.findings) {
    has_error = has_error || found.finding.severity == mllog::Finding::Severity::kError;
    fuzz::require(found.finding.line <= reader.lines());
  }
  fuzz::require(judgement.passes != has_error);
  fuzz::require(judgement.passes || !strict.judgement().passes);

  const analysis::ParsedLog log = std::move(collector).log();
  const analysis::RunFacts facts = analysis::facts_of(log);
  for (const analysis::Finding& finding : analysis::audit(log, facts)) {
    fuzz::require(!finding.rule.empty() && finding.line <= reader.lines());
  }
  fuzz::require(package.log().malformed_records == reader.malformed_records());
  return 0;
}
