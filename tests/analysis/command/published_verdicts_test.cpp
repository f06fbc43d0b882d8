// Every published log gets the recorded verdict of MLCommons' checker, and the same failing keys.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/findings/check_logs.h"
#include "published_logs/published_logs.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The record of the checker that counts: for HPC 0.7 the round's own, a fork.
json recorded(const json& file) {
  const json& checker = file["mlcommons_checker"];
  return checker.contains("fork_checker") ? checker["fork_checker"] : checker;
}

class PublishedVerdicts : public testing::Test {
 protected:
  void SetUp() override {
    if (logs_.empty()) GTEST_SKIP() << published::kAbsent;
  }

  /// The paths of the recorded logs, by name.
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const auto& [name, file] : files_.items()) paths.push_back((logs_ / name).string());
    return paths;
  }

  const json& of(const analysis::CheckedFile& file) const {
    return files_[fs::relative(file.path, logs_).generic_string()];
  }

  const fs::path logs_ = published::folder();
  const json& files_ = published::expected()["files"];
  mllog::rules::RuleBook book_;
};

TEST_F(PublishedVerdicts, AreGivenAgainWithTheKeysToBlame) {
  const analysis::CheckReport report = analysis::check_logs(paths(), book_, {});
  ASSERT_EQ(report.files.size(), files_.size());
  for (const analysis::CheckedFile& file : report.files) {
    const json expected = recorded(of(file));
    if (file.verdict == analysis::Verdict::kUnknown) continue;
    EXPECT_EQ(file.judgement.passes, expected["verdict"] == "SUCCESS") << file.name;
    EXPECT_EQ(json(file.judgement.failing_keys), expected["failing_keys"]) << file.name;
  }
}

TEST_F(PublishedVerdicts, HaveTheRoundOfTheirFolder) {
  const analysis::CheckReport report = analysis::check_logs(paths(), book_, {});
  for (const analysis::CheckedFile& file : report.files) {
    const std::string round = *fs::relative(file.path, logs_).begin();  // "hpc_v1.0"
    std::string ruleset = round + ".0";
    ruleset.replace(ruleset.find("_v"), 2, "-");
    EXPECT_EQ(file.judgement.ruleset, ruleset) << file.name;
  }
}

/// The content of a log determines its round, except in logs whose clock started with the program.
TEST_F(PublishedVerdicts, TellTheirRoundWithoutTheirPath) {
  std::size_t told = 0, asked = 0;
  for (const std::string& path : paths()) {
    std::ifstream in(path, std::ios::binary);
    const auto choice = mllog::rules::choose_by_log(book_, {}, mllog::rules::gather_evidence(in));
    const std::string round = *fs::relative(path, logs_).begin();
    told += choice.round->usage + "_v" + choice.round->number == round;
    ++asked;
  }
  EXPECT_GE(told, asked - 10) << "of " << asked;
}

}  // namespace
