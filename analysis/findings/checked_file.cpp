// Reads a log in one pass for its verdict, its facts and its audit.
#include "analysis/findings/checked_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "analysis/audit/audit.h"
#include "analysis/facts_of_log.h"
#include "analysis/log_parser.h"
#include "runner/mllog/keys.h"
#include "runner/mllog/record_reader.h"

namespace analysis {
namespace {

using mllog::rules::Choice;
using mllog::rules::Judge;
using mllog::rules::Ruleset;

/// For a log of a round without rules.
void set_unknown(const std::string& ruleset, const std::string& reason, CheckedFile& file) {
  mllog::rules::KeyFinding found;
  found.finding.severity = mllog::Finding::Severity::kNote;
  found.finding.text = reason;
  found.finding.rule = "log/format";
  file.judgement = {};
  file.judgement.ruleset = ruleset;
  file.judgement.findings.push_back(found);
  file.verdict = Verdict::kUnknown;
  file.unknown_because = reason;
}

/// Whether the round has no rules for the log's benchmark, so that only the common ones applied.
bool has_common_rules_alone(const mllog::rules::Judgement& judgement) {
  return std::ranges::any_of(judgement.findings, [](const auto& found) {
    return found.finding.severity == mllog::Finding::Severity::kNote &&
           found.finding.rule.ends_with("/then");
  });
}

void set_verdict(const Choice& choice, CheckedFile& file) {
  file.verdict = file.judgement.passes ? Verdict::kSuccess : Verdict::kFail;
  if (file.verdict == Verdict::kFail || !has_common_rules_alone(file.judgement)) return;
  file.verdict = Verdict::kUnknown;
  const std::string benchmark =
      file.facts ? file.facts->config_text(mllog::keys::kSubmissionBenchmark) : "";
  file.unknown_because = fmt::format(
      "what {} asks of {} in this division is not known here; the log breaks none of the rules "
      "that all benchmarks share",
      choice.round->name(), benchmark.empty() ? "its benchmark" : benchmark);
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSuccess:
      return "SUCCESS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kUnknown:
      return "UNKNOWN";
  }
  return "";
}

CheckedFile LogChecker::check(const FoundLog& log, std::istream& in, const Choice& choice) {
  CheckedFile file;
  file.name = log.name;
  file.folder = log.folder;
  file.path = log.path;
  file.why_this_ruleset = choice.why;
  file.round = {choice.round->usage, choice.round->number};
  if (choice.round->no_rules_because.empty()) {
    Judge judge(rules_of(*choice.round), warnings_);
    read(in, &judge, file);
    set_verdict(choice, file);
  } else {
    set_unknown(
        choice.round->ruleset(),
        fmt::format("{} is not judged: {}", choice.round->name(), choice.round->no_rules_because),
        file);
    read(in, nullptr, file);
  }
  return file;
}

const Ruleset& LogChecker::rules_of(const mllog::rules::Round& round) {
  const std::lock_guard lock(mutex_);
  auto found = rulesets_.find(&round);
  if (found == rulesets_.end()) found = rulesets_.emplace(&round, book_.ruleset(round)).first;
  return found->second;
}

/// Fills in judgement, facts, audit and package data in one pass. A null `judge` leaves the
/// judgement as it is.
void LogChecker::read(std::istream& in, Judge* judge, CheckedFile& file) const {
  mllog::RecordReader reader(in);
  LogCollector collector(reader);
  std::optional<submission::PackageLogCollector> package;
  if (gathered_ != Gathered::kNothing) package.emplace(file.round.round);
  while (const std::optional<mllog::LogItem> item = reader.next()) {
    std::visit(
        [&](const auto& one) {
          if (judge) judge->add(one);
          collector.add(one);
          if (package) package->add(one);
        },
        *item);
  }
  if (judge) file.judgement = judge->judgement();
  ParsedLog log = std::move(collector).log();
  file.facts = facts_of(log, file.round.round);
  file.audit = std::move(log.findings);
  for (Finding& finding : audit(log, *file.facts)) file.audit.push_back(std::move(finding));
  if (!package) return;
  file.package = package->log();
  file.package->rcp.name = file.path.filename().string();
  file.package->complies = file.judgement.passes;
  if (gathered_ == Gathered::kPackage) return;  // the check of a submission reports them
  for (const Finding& finding : file.package->rcp.findings) file.audit.push_back(finding);
}

}  // namespace analysis
