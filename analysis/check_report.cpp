// The verdict on each log.
// Hides threads, files, and the choice of a round.
#include "analysis/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>
#include <variant>

#include "analysis/audit.h"
#include "analysis/find_logs.h"
#include "analysis/log_parser.h"
#include "runner/base/error.h"
#include "runner/base/for_each_index.h"
#include "runner/mllog/record_reader.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;
using mllog::rules::Choice;
using mllog::rules::Judge;
using mllog::rules::Judgement;
using mllog::rules::RuleBook;
using mllog::rules::Ruleset;

/// The rules of each round that is asked for, made once.
class Rulesets {
 public:
  explicit Rulesets(const RuleBook& book) : book_(book) {}

  const Ruleset& of(const mllog::rules::Round& round) {
    const std::lock_guard lock(mutex_);
    auto found = made_.find(&round);
    if (found == made_.end()) found = made_.emplace(&round, book_.ruleset(round)).first;
    return found->second;
  }

 private:
  const RuleBook& book_;
  std::mutex mutex_;
  std::map<const mllog::rules::Round*, Ruleset> made_;
};

/// Logs of the rounds before MLLOG are not read: they fail, for one plain reason.
Judgement old_format(const std::string& ruleset, const std::string& reason) {
  mllog::rules::KeyFinding found;
  found.finding.severity = mllog::Finding::Severity::kError;
  found.finding.text = reason;
  found.finding.rule = "log/format";
  Judgement judgement;
  judgement.ruleset = ruleset;
  judgement.findings.push_back(found);
  return judgement;
}

std::ifstream opened(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    throw base::SystemError(path.string() + ": expected a regular file");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw base::system_error(path.string() + ": cannot be opened", errno);
  return in;
}

class Checker {
 public:
  Checker(const RuleBook& book, const JudgingOptions& options)
      : book_(book), options_(options), rulesets_(book) {}

  CheckedFile check(const FoundLog& log) {
    if (log.path != kStandardInput) {
      std::ifstream in = opened(log.path);
      std::error_code failed;
      const fs::path whole = fs::weakly_canonical(log.path, failed);
      return check(log, in, (failed ? log.path : whole).generic_string());
    }
    std::istream* const in = options_.reading.standard_input;
    if (in == nullptr) throw base::SystemError("standard input: cannot be read here");
    if (mllog::rules::choose_by_path(book_, options_.wanted, "")) return check(log, *in, "");
    std::stringstream kept;  // to be read twice
    if (in->peek() != std::istream::traits_type::eof()) kept << in->rdbuf();
    return check(log, kept, "");
  }

 private:
  CheckedFile check(const FoundLog& log, std::istream& in, const std::string& path) {
    const Choice choice = choose(in, path);
    CheckedFile file{log.name, log.path, choice.why, {}, {}};
    if (!choice.round->no_rules_because.empty()) {
      file.judgement = old_format(choice.round->ruleset(),
                                  fmt::format("{} is not judged: {}", choice.round->name(),
                                              choice.round->no_rules_because));
    } else {
      judge(in, rulesets_.of(*choice.round), file);
    }
    return file;
  }

  Choice choose(std::istream& in, const std::string& path) const {
    if (auto choice = mllog::rules::choose_by_path(book_, options_.wanted, path)) return *choice;
    const mllog::rules::Evidence evidence = mllog::rules::gather_evidence(in);
    in.clear();
    in.seekg(0);
    return mllog::rules::choose_by_log(book_, options_.wanted, evidence);
  }

  /// Verdict and audit, in one pass.
  void judge(std::istream& in, const Ruleset& ruleset, CheckedFile& file) const {
    mllog::RecordReader reader(in);
    Judge judge(ruleset, options_.warnings);
    LogCollector collector(reader);
    while (const std::optional<mllog::LogItem> item = reader.next()) {
      std::visit(
          [&](const auto& one) {
            judge.add(one);
            collector.add(one);
          },
          *item);
    }
    if (reader.records() == 0 && reader.malformed_records() == 0 && reader.old_format_lines() > 0) {
      file.judgement = old_format(
          ruleset.name, fmt::format("no MLLOG record, but {} lines of the formats before 0.7 "
                                    "(':::MLL ', ':::MLPv0.5'), which are not judged",
                                    reader.old_format_lines()));
      return;
    }
    file.judgement = judge.judgement();
    ParsedLog log = std::move(collector).log();
    file.audit = std::move(log.findings);
    for (Finding& finding : audit(log, facts_of(log))) file.audit.push_back(std::move(finding));
  }

  const RuleBook& book_;
  const JudgingOptions& options_;
  Rulesets rulesets_;
};

}  // namespace

std::size_t CheckReport::failed() const {
  return static_cast<std::size_t>(std::count_if(
      files.begin(), files.end(), [](const CheckedFile& file) { return !file.judgement.passes; }));
}

CheckReport check_logs(const std::vector<std::string>& paths, const RuleBook& book,
                       const JudgingOptions& options) {
  const FoundLogs found = find_logs(paths);
  CheckReport report;
  for (const UnusablePath& path : found.problems) {
    report.problems.push_back({path.path, path.reason, path.missing});
  }
  // Each in its place, so that the report does not depend on who was first. A fault of the rules is
  // none of the log's, and ends all.
  Checker checker(book, options);
  std::vector<std::variant<CheckedFile, Problem>> checked(found.logs.size());
  base::for_each_index(checked.size(), options.reading.threads, [&](std::size_t i) {
    try {
      checked[i] = checker.check(found.logs[i]);
    } catch (const base::SystemError& error) {
      checked[i] = Problem{found.logs[i].name, error.what(), false};
    }
  });
  for (auto& one : checked) {
    if (auto* file = std::get_if<CheckedFile>(&one)) {
      report.files.push_back(std::move(*file));
    } else {
      report.problems.push_back(std::move(std::get<Problem>(one)));
    }
  }
  return report;
}

}  // namespace analysis
