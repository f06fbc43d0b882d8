// The plan of memory, held against what runs of the program take.
// Hides where a run's files lie.
#include <gmock/gmock.h>

#include "workloads/dlrm/click_run.h"

namespace {

using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::mpirun;

class DlrmMemory : public outside::ClickRun {
 protected:
  /// Bytes that the plan gives the first rank, and what a run took there at most.
  struct Bytes {
    double planned = 0.0, taken = 0.0;
  };
  Bytes bytes_of(const char* tables, std::int64_t batch, int ranks) const {
    json object = config();
    const std::string name = std::to_string(batch) + "_" + std::to_string(ranks);
    object["epochs"] = 1;
    object["staging"]["mode"] = "none";
    object["results"]["directory"] = (folder_ / name).string();
    object["checkpoint"]["every_steps"] = 1;  // tables on their way to files are planned for, too
    object["dataset"]["train_samples"] = kTrainSamples;
    object["dataset"]["test_samples"] = kTestSamples;
    object["model"]["tables"] = tables;
    object["training"]["global_batch_size"] = batch;
    const std::string file = saved(object);
    const Ended plan = shell(std::string(TRAINMARK) + " config --memory --json - --ranks " +
                             std::to_string(ranks) + " " + file);
    EXPECT_EQ(plan.status, 0) << plan.err;
    const Ended run = shell(mpirun(ranks) + TRAINMARK " run " + file);
    const auto telemetry = folder_ / name / "box/dlrm/result_1.telemetry.json";
    EXPECT_TRUE(outside::fs::exists(telemetry)) << run.status << ": " << run.err;
    const json report = json::parse(content(telemetry));
    return {json::parse(plan.out).at("total_bytes"), report.at("ranks").at(0).at("peak_rss_bytes")};
  }
};

/// The difference of two models, which is free of the program itself and its libraries.
TEST_F(DlrmMemory, IsTakenAsPlanned) {
  for (const int ranks : {1, 2}) {
    const Bytes small = bytes_of(kRows, 16, ranks);
    const Bytes large = bytes_of("300000,300000,200000,100000,100000", 65536, ranks);
    const double planned = large.planned - small.planned;
    EXPECT_GT(planned, 400e6 / ranks) << ranks;
    // Not more than planned; less, as the plan has room for a file of weights, too.
    EXPECT_LT((large.taken - small.taken) / planned, 1.05) << ranks;
    EXPECT_GT((large.taken - small.taken) / planned, 0.7) << ranks;
  }
}

}  // namespace
