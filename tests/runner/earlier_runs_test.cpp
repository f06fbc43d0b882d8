// Tests of the search for earlier runs of the same work.
#include "runner/earlier_runs.h"

#include <gtest/gtest.h>

#include <filesystem>
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

TEST_F(EarlierRuns, AreNotReadFromAKeyUnderBothNames) {
  const json twice = {{"training", {{"bn_group_samples", 4}, {"bn_group_size", 4}}}};
  EXPECT_FALSE(after_run_with(twice, {{"training", {{"bn_group_samples", 4}}}}));
}

}  // namespace
}  // namespace runner
