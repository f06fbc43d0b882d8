// No figure depends on harmless changes of a log (log_changes.h) or on the order of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/findings/make_report.h"
#include "analysis/findings/report.h"
#include "analysis/log_changes.h"
#include "analysis/report/json/report.h"
#include "runner/base/content.h"
#include "runner/base/temporary_directory.h"

namespace {

namespace fs = std::filesystem;
using log_changes::lines_of;
using log_changes::logs_to_try;
using log_changes::Named;
using nlohmann::json;

/// Figures of the file, not of its meaning.
constexpr std::array kOfTheFile = {"bytes", "other_lines", "findings"};
/// Figures that repetition of records changes.
constexpr std::array kOfRepetition = {"records", "repeated_keys", "records_after_run_stop",
                                      "malformed_records"};

json figures(const std::string& text, const std::vector<const char*>& left_out) {
  std::istringstream in(text);
  analysis::ReadOptions options;
  options.standard_input = &in;
  json file = analysis::report::report_json(analysis::make_report({"-"}, options))["files"]["-"];
  for (const char* key : left_out) file.erase(key);
  return file;
}

/// Differences, except those of rounding in a mean over another number of equal terms.
std::string differences(const json& before, const json& after) {
  constexpr double kRounding = 1e-13;
  std::string text;
  for (const json& change : json::diff(before, after)) {
    const json& was = before.at(json::json_pointer(change["path"].get<std::string>()));
    if (change["op"] == "replace" && was.is_number() && change["value"].is_number()) {
      const double a = was.get<double>(), b = change["value"].get<double>();
      if (std::abs(a - b) <= kRounding * std::abs(a)) continue;
    }
    text += was.dump().substr(0, 100) + " became " + change.dump().substr(0, 200) + "\n";
  }
  return text;
}

void expect_unchanged(const std::vector<Named>& changes, bool repeats = false) {
  std::vector<const char*> left_out(kOfTheFile.begin(), kOfTheFile.end());
  if (repeats) left_out.insert(left_out.end(), kOfRepetition.begin(), kOfRepetition.end());
  for (const fs::path& path : logs_to_try()) {
    const std::string text = base::content(path);
    const json before = figures(text, left_out);
    ASSERT_GT(before.size(), 30u) << path;
    const std::vector<std::string> lines = lines_of(text);
    for (const auto& [name, change] : changes) {
      const json after = figures(change(lines), left_out);
      EXPECT_EQ(differences(before, after), "") << path << ", " << name;
    }
  }
}

TEST(WhatALogSays, DoesNotDependOnLineEndsPrefixesAndForeignLines) {
  expect_unchanged(log_changes::harmless());
}

TEST(WhatALogSays, DoesNotDependOnHowManyRanksSayIt) {
  expect_unchanged({{"three ranks", log_changes::three_ranks()}}, true);
}

TEST(WhatASetSays, DoesNotDependOnTheOrderOfItsFiles) {
  // The same logs under other numbers: the score is that of the same runs.
  const base::TemporaryDirectory folder;
  std::vector<fs::path> logs;
  for (const auto& entry : fs::directory_iterator("tests/analysis/data/set/results/demo/resnet")) {
    if (entry.path().filename().string().starts_with("result_")) logs.push_back(entry.path());
  }
  std::sort(logs.begin(), logs.end());
  ASSERT_GT(logs.size(), 2u);
  const auto score = [&](const std::string& name) {
    json system = analysis::report::report_json(
        analysis::make_report({(folder.path() / name).string()}))["systems"]["."];
    system.erase("olympic_files");
    for (json& finding : system["findings"]) finding.erase("text");  // it names files
    return system;
  };
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto name = [&](std::size_t number) {
      return "/result_" + std::to_string(number) + ".txt";
    };
    folder.write("rising" + name(i), base::content(logs[i]));
    folder.write("falling" + name(logs.size() - i), base::content(logs[i]));
  }
  EXPECT_FALSE(score("rising")["olympic_mean_s"].is_null());
  EXPECT_EQ(score("rising"), score("falling"));
}

}  // namespace
