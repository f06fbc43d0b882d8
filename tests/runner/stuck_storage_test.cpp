// Tests of runs whose reads block, as on a hanging file system.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/small_run.h"

namespace {

using nlohmann::json;
using outside::Ended;
using testing::AllOf;
using testing::HasSubstr;

/// Longer than a busy machine takes for the longest step without progress, the initialisation of a
/// model.
constexpr int kHangTimeoutS = 15;
constexpr int kSystem = 4;

class StuckStorage : public outside::SmallRun {
 protected:
  /// A run on two ranks, one of which waits for the last image below `folder`.
  Ended run_without(const std::string& folder) {
    return run(
        [](json& config) {
          config["staging"]["mode"] = "stream";
          config["hang_timeout_s"] = kHangTimeoutS;
        },
        outside::mpirun_with_stuck_file(2, last_image(folder)));
  }
};

TEST_F(StuckStorage, NamesTheRankWhoseTrainingDataDoesNotCome) {
  const Ended run = run_without("data/train");
  EXPECT_EQ(run.status, kSystem) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("rank 0: no progress for 15 s: rank "),
                             HasSubstr("has stood still in training, step "),
                             HasSubstr(": input for "), HasSubstr("wait")));
  EXPECT_THAT(last_record(), AllOf(HasSubstr("run_stop"), HasSubstr(": input for ")));
  EXPECT_TRUE(all_end());
}

TEST_F(StuckStorage, NamesTheRankWhoseEvaluationDataDoesNotCome) {
  const Ended run = run_without("data/validation");
  EXPECT_EQ(run.status, kSystem) << run.err;
  EXPECT_THAT(
      run.err,
      AllOf(HasSubstr("rank 1 (host "), HasSubstr("has stood still in evaluation: input for "),
            HasSubstr("rank 0 waits in evaluation"), HasSubstr("(MPI_Allreduce)")));
  EXPECT_TRUE(all_end());
}

}  // namespace
