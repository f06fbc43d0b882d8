// Tests of the search for earlier runs of the same work.
#include "runner/earlier_runs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runner/base/temporary_directory.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder with the result of a run on one rank.
class EarlierRuns : public testing::Test {
 protected:
  std::optional<EarlierRun> after_run_with(const json& config, const json& resolved) const {
    folder_.write("result_1.config.json", config.dump());
    fs::copy_file("tests/fuzz/seeds/telemetry/one_rank.json",
                  folder_.path() / "result_1.telemetry.json", fs::copy_options::overwrite_existing);
    return find_earlier_run(folder_.path().string(), resolved, 1);
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(EarlierRuns, AreFoundUnderFormerNames) {
  const json today = {{"workload", "toy"}, {"staging", {{"mode", "stream"}}}};
  EXPECT_TRUE(after_run_with(today, today));
  EXPECT_TRUE(after_run_with({{"workload", "toy"}, {"staging", {{"mode", "none"}}}}, today));
  EXPECT_FALSE(after_run_with({{"workload", "toy"}, {"staging", {{"mode", "node"}}}}, today));
}

TEST_F(EarlierRuns, MayHaveHadTheirSamplesElsewhereIfOnlyStepsMatter) {
  const json streamed = {{"workload", "toy"}, {"staging", {{"mode", "stream"}}}};
  const json copied = {{"workload", "toy"}, {"staging", {{"mode", "auto"}}}, {"cache", {{"x", 1}}}};
  EXPECT_FALSE(after_run_with(streamed, copied));
  const std::string folder = folder_.path().string();
  EXPECT_TRUE(find_earlier_run(folder, copied, 1, Work::kSteps));
  EXPECT_FALSE(find_earlier_run(folder, {{"workload", "other"}}, 1, Work::kSteps));
}

TEST_F(EarlierRuns, TellTheComputeTimeOfAStep) {
  const json config = {{"workload", "toy"}};
  EXPECT_DOUBLE_EQ(after_run_with(config, config)->compute_s, 0.18);
  // 50 steps waited for their input for 4 s of their 0.18 s each.
  const fs::path file = folder_.path() / "result_1.telemetry.json";
  json telemetry = json::parse(std::ifstream(file));
  auto& subsystems = telemetry["ranks"][0]["subsystems_s"];
  std::swap(subsystems["input"], subsystems["forward"]);
  std::ofstream(file) << telemetry;
  const auto run = find_earlier_run(folder_.path().string(), config, 1);
  EXPECT_DOUBLE_EQ(run->step_s, 0.18);
  EXPECT_DOUBLE_EQ(run->compute_s, 0.1);
}

TEST_F(EarlierRuns, AreNotReadFromAKeyUnderBothNames) {
  const json twice = {{"training", {{"bn_group_samples", 4}, {"bn_group_size", 4}}}};
  EXPECT_FALSE(after_run_with(twice, {{"training", {{"bn_group_samples", 4}}}}));
}

}  // namespace
}  // namespace runner
