// Tests the plan of memory against the memory that runs of the program take.
#include <gmock/gmock.h>

#include "workloads/dlrm/click_run.h"

namespace {

using nlohmann::json;

class DlrmMemory : public outside::ClickRun {
 protected:
  json config_of(const char* tables, std::int64_t batch) const {
    json object = config();
    object["epochs"] = 1;
    object["staging"]["mode"] = "stream";
    object["checkpoint"]["every_steps"] = 1;  // the plan includes scratch for writing tables
    object["dataset"]["train_samples"] = kTrainSamples;
    object["dataset"]["test_samples"] = kTestSamples;
    object["model"]["tables"] = tables;
    object["training"]["global_batch_size"] = batch;
    return object;
  }
};

/// Compares the difference between two models, which excludes the program itself and its libraries.
TEST_F(DlrmMemory, IsTakenAsPlanned) {
  for (const int ranks : {1, 2}) {
    const Bytes small = bytes_of(config_of(kRows, 16), ranks);
    const Bytes large = bytes_of(config_of("300000,300000,200000,100000,100000", 65536), ranks);
    const double planned = large.planned - small.planned;
    EXPECT_GT(planned, 400e6 / ranks) << ranks;
    // At most the plan. Less is expected, since the plan has room for a file of weights, too.
    EXPECT_LT((large.taken - small.taken) / planned, 1.05) << ranks;
    EXPECT_GT((large.taken - small.taken) / planned, 0.7) << ranks;
  }
}

}  // namespace
