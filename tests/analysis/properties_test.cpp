// What may happen to a log on its way without changing what it says: other line ends, prefixes of
// launchers, foreign lines, records of several ranks, another order of files.
// Hides the logs: those of tests/analysis/data, and the published ones where they are at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "analysis/report_json.h"
#include "golden.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kToken[] = ":::MLLOG ";
/// What a log is, not what it says.
constexpr std::array kOfTheFile = {"bytes", "other_lines", "findings"};
/// What repetition is told by.
constexpr std::array kOfRepetition = {"records", "repeated_keys", "records_after_run_stop",
                                      "malformed_records"};

std::vector<fs::path> logs_to_try() {
  std::vector<fs::path> paths;
  for (const fs::path root : {"tests/analysis/data", "../shared/mlperf_logs"}) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("result_") && name.ends_with(".txt")) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Lines without their ends, as the reader takes them.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && i > 0 && text[i - 1] == '\r') continue;
    if (text[i] != '\n' && text[i] != '\r') {
      line += text[i];
      continue;
    }
    lines.push_back(std::move(line));
    line.clear();
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

bool is_record(const std::string& line) { return line.find(kToken) != std::string::npos; }

using Change = std::function<std::string(const std::vector<std::string>&)>;

/// Each line, changed, with `end` behind it.
Change each(const std::function<std::string(const std::string&)>& change, const char* end) {
  return [change, end](const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += change(line) + end;
    return text;
  };
}

json figures(const std::string& text, const std::vector<const char*>& left_out) {
  std::istringstream in(text);
  analysis::ReadOptions options;
  options.standard_input = &in;
  json file = report_json(analysis::make_report({"-"}, options))["files"]["-"];
  for (const char* key : left_out) file.erase(key);
  return file;
}

/// What differs by more than the rounding of a mean over other numbers of equal terms.
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

void expect_unchanged(const Change& change, bool repeats = false) {
  std::vector<const char*> left_out(kOfTheFile.begin(), kOfTheFile.end());
  if (repeats) left_out.insert(left_out.end(), kOfRepetition.begin(), kOfRepetition.end());
  for (const fs::path& path : logs_to_try()) {
    const std::string text = golden::content(path);
    const json before = figures(text, left_out);
    ASSERT_GT(before.size(), 30u) << path;
    const json after = figures(change(lines_of(text)), left_out);
    EXPECT_EQ(differences(before, after), "") << path;
  }
}

TEST(WhatALogSays, DoesNotDependOnItsLineEnds) {
  const auto as_it_is = [](const std::string& line) { return line; };
  for (const char* end : {"\n", "\r\n", "\r"}) expect_unchanged(each(as_it_is, end));
}

TEST(WhatALogSays, DoesNotDependOnWhatStandsBeforeARecord) {
  for (const std::string prefix : {"[0] ", "  0: ", "\x1b[32m", "I0518 21:33:07.3 x.py:168] "}) {
    expect_unchanged(each(
        [&](const std::string& line) { return is_record(line) ? prefix + line : line; }, "\n"));
  }
}

TEST(WhatALogSays, DoesNotDependOnForeignLines) {
  expect_unchanged([](const std::vector<std::string>& lines) {
    std::string text = "#!/bin/bash\n\n";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i % 3 == 0) text += "NCCL INFO: 50%\r 100%\r\n{\"key\": \"run_stop\"}\n:::MLLOG{}\n";
      text += lines[i] + "\n";
    }
    return text + "real 0m1s";
  });
}

TEST(WhatALogSays, DoesNotDependOnHowManyRanksSayIt) {
  // Every rank logs what the first does, as soon as it.
  expect_unchanged(each(
                       [](const std::string& line) {
                         return is_record(line) ? line + "\n" + line + "\n" + line : line;
                       },
                       "\n"),
                   true);
}

TEST(WhatASetSays, DoesNotDependOnTheOrderOfItsFiles) {
  // The same logs under other numbers: the score is that of the same runs.
  const golden::TemporaryFolder folder;
  std::vector<fs::path> logs;
  for (const auto& entry : fs::directory_iterator("tests/analysis/data/set/results/demo/resnet")) {
    if (entry.path().filename().string().starts_with("result_")) logs.push_back(entry.path());
  }
  std::sort(logs.begin(), logs.end());
  ASSERT_GT(logs.size(), 2u);
  const auto score = [&](const std::string& name) {
    json system =
        report_json(analysis::make_report({(folder.path() / name).string()}))["systems"]["."];
    system.erase("olympic_files");
    return system;
  };
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto name = [&](std::size_t number) {
      return "/result_" + std::to_string(number) + ".txt";
    };
    folder.write("rising" + name(i), golden::content(logs[i]));
    folder.write("falling" + name(logs.size() - i), golden::content(logs[i]));
  }
  EXPECT_FALSE(score("rising")["olympic_mean_s"].is_null());
  EXPECT_EQ(score("rising"), score("falling"));
}

}  // namespace
