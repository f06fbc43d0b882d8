// Every published log, compared with the figures of an independent program.
// Hides where those logs are: beside the project, or absent.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/report.h"
#include "analysis/report_json.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kLogs = "../shared/mlperf_logs";

/// The independent figures are rounded to six decimals (fractions to nine), rates computed from
/// rounded seconds.
constexpr double kAbsolute = 0.6e-6;
constexpr double kFractionAbsolute = 0.6e-9;
constexpr double kRelative = 1e-8;

bool is_fraction(const std::string& key) {
  return key.ends_with("_fraction") || key.ends_with("_ratio") || key == "models_per_min";
}

/// Verdicts of other programs, which are not this room's yet.
bool is_foreign(const std::string& key) {
  return key == "mlcommons_checker" || key == "mlcommons_summarizer";
}

bool same(const std::string& key, const json& expected, const json& found) {
  const double absolute = is_fraction(key) ? kFractionAbsolute : kAbsolute;
  if (expected.is_number() && found.is_number()) {
    const auto a = expected.get<double>();
    const auto b = found.get<double>();
    return std::abs(a - b) <= std::max(absolute, kRelative * std::abs(a));
  }
  return expected == found;
}

/// Compares every figure of `expected`; what it leaves out is not asked for.
void compare(const std::string& where, const json& expected, const json& found) {
  for (const auto& [key, value] : expected.items()) {
    if (is_foreign(key)) continue;
    ASSERT_TRUE(found.contains(key)) << where << ": " << key << " is missing";
    EXPECT_TRUE(same(key, value, found[key]))
        << where << ": " << key << ": expected " << value << ", found " << found[key];
  }
}

class PublishedLogs : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kLogs / "expected.json")) {
      GTEST_SKIP() << "no published logs at " << kLogs << " (they are not part of the project)";
    }
    std::ifstream in(kLogs / "expected.json");
    expected_ = json::parse(in);
  }
  json expected_;
};

TEST_F(PublishedLogs, GiveTheFiguresOfAnIndependentProgram) {
  const analysis::Report report = analysis::make_report({kLogs.string()});
  const json files = report_json(report)["files"];
  std::size_t compared = 0;
  for (const auto& [name, expected] : expected_["files"].items()) {
    if (!fs::path(name).filename().string().starts_with("result_")) continue;
    ASSERT_TRUE(files.contains(name)) << name;
    compare(name, expected, files[name]);
    ++compared;
  }
  EXPECT_EQ(compared, files.size());
  EXPECT_GT(compared, 160u);
}

TEST_F(PublishedLogs, GiveTheSystemsScoresOfAnIndependentProgram) {
  const analysis::Report report = analysis::make_report({kLogs.string()});
  const json systems = report_json(report)["systems"];
  for (const auto& [name, expected] : expected_["systems"].items()) {
    ASSERT_TRUE(systems.contains(name)) << name;
    compare(name, expected, systems[name]);
  }
  EXPECT_EQ(systems.size(), expected_["systems"].size());
}

TEST_F(PublishedLogs, AreReadByTheirOwnPathWhateverTheirName) {
  const std::string name =
      "training_v0.7/Intel/results/1-node-8s-cpx-2-mxnet/resnet/logs/32_workers_0.log";
  const analysis::Report report = analysis::make_report({(kLogs / name).string()});
  ASSERT_EQ(report.runs.size(), 1u);
  EXPECT_EQ(report.runs[0].name, "32_workers_0.log");
  compare(name, expected_["files"][name], report_json(report)["files"]["32_workers_0.log"]);
  EXPECT_TRUE(report.systems.empty()) << "logs/ holds no set of runs";
}

TEST_F(PublishedLogs, HaveTheTargetsOfTheTable) {
  for (const auto& [name, expected] : expected_["targets"].items()) {
    const analysis::Benchmark* row = analysis::find_benchmark(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_EQ(row->metric, expected["metric"].get<std::string>());
    EXPECT_EQ(row->direction == analysis::Direction::kRises, expected["op"] == ">=");
    EXPECT_DOUBLE_EQ(row->target, expected["value"].get<double>());
    EXPECT_EQ(row->runs_required, expected["runs"].get<int>());
  }
}

}  // namespace
