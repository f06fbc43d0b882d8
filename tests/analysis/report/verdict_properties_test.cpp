// Verdicts do not depend on harmless changes of a log (log_changes.h) or on the order of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "analysis/findings/check_logs.h"
#include "analysis/log_changes.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using analysis::CheckedFile;
using analysis::CheckReport;
using analysis::JudgingOptions;
using log_changes::Named;
using mllog::rules::RuleBook;

const RuleBook& book() {
  static const RuleBook rules;
  return rules;
}

/// Verdict, failing keys, and the rules of the errors, without their places.
std::string verdict_of(const CheckedFile& file) {
  std::string text = file.judgement.passes ? "SUCCESS" : "FAIL";
  for (const std::string& key : file.judgement.failing_keys) text += " " + key;
  std::vector<std::string> rules;
  for (const auto& found : file.judgement.findings) {
    if (found.finding.severity == mllog::Finding::Severity::kError) {
      rules.push_back(found.finding.rule);
    }
  }
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  for (const std::string& rule : rules) text += " " + rule;
  return text;
}

std::string verdict_of(const std::string& log, const std::string& round) {
  std::istringstream in(log);
  JudgingOptions options;
  options.wanted.round = round;
  options.reading.standard_input = &in;
  return verdict_of(analysis::check_logs({"-"}, book(), options).files.at(0));
}

/// The round chosen for a log at its path; "" for a round without rules.
std::string round_of(const fs::path& path) {
  const CheckReport report = analysis::check_logs({path.string()}, book(), {});
  const CheckedFile& file = report.files.at(0);
  const auto* const round = book().find(file.round.usage, file.round.round);
  return round->no_rules_because.empty() ? round->name() : "";
}

/// Expects that no change alters a log's verdict. Skips logs that contain a text of `excepted`.
void expect_same_verdicts(const std::vector<Named>& changes,
                          const std::vector<std::string>& excepted = {}) {
  int tried = 0;
  for (const fs::path& path : log_changes::logs_to_try()) {
    const std::string round = round_of(path);
    const std::string text = base::content(path);
    const auto holds = [&](const std::string& part) {
      return text.find(part) != std::string::npos;
    };
    if (round.empty() || std::any_of(excepted.begin(), excepted.end(), holds)) continue;
    const std::string before = verdict_of(text, round);
    const std::vector<std::string> lines = log_changes::lines_of(text);
    for (const auto& [name, change] : changes) {
      EXPECT_EQ(verdict_of(change(lines), round), before) << path << ", " << name;
    }
    ++tried;
  }
  EXPECT_GT(tried, 3);
}

TEST(AVerdict, DoesNotDependOnLineEndsPrefixesAndForeignLines) {
  expect_same_verdicts(log_changes::harmless());
}

TEST(AVerdict, DoesNotDependOnHowManyRanksSayIt) {
  // The rules of 1.0 to 4.0 want each weight tensor of DLRM and ResNet-50 named once, not by every
  // rank. Like mlcommons' checker, this program fails logs that repeat them.
  const std::string once = "\"weights_initialization\"";
  expect_same_verdicts({{"three ranks", log_changes::three_ranks()}}, {once});
}

TEST(AVerdict, DoesNotDependOnTheOrderOfFiles) {
  const base::TemporaryDirectory folder;
  int number = 0;
  std::vector<std::string> paths;
  for (const fs::path& path : log_changes::logs_to_try()) {
    paths.push_back(folder.write(path.parent_path().generic_string().substr(3) + "/result_" +
                                     std::to_string(++number) + ".txt",
                                 base::content(path)));
  }
  const auto all = [&] {
    std::vector<std::string> verdicts;
    for (const CheckedFile& file : analysis::check_logs(paths, book(), {}).files) {
      verdicts.push_back(file.name + ": " + verdict_of(file));
    }
    return verdicts;
  };
  const std::vector<std::string> before = all();
  EXPECT_EQ(before.size(), paths.size());
  std::reverse(paths.begin(), paths.end());
  EXPECT_EQ(all(), before);
}

}  // namespace
