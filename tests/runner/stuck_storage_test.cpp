// Tests of runs whose files do not come, as on a file system that hangs: a pipe without a writer in
// place of an image. Hides nothing.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "runner/small_run.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::Ended;
using testing::AllOf;
using testing::HasSubstr;

/// More than a busy machine takes for what shows no progress: the initialisation of a model.
constexpr int kHangTimeoutS = 15;
constexpr int kSystem = 4;

using StuckStorage = outside::SmallRun;

TEST_F(StuckStorage, NamesTheRankWhoseTrainingDataDoesNotCome) {
  block("data/train");
  json object = config();
  object["staging"]["mode"] = "none";
  object["hang_timeout_s"] = kHangTimeoutS;
  const Ended run = shell(mpirun(2) + TRAINMARK " run " + saved(object));
  EXPECT_EQ(run.status, kSystem) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("rank 0: no progress for 15 s: rank "),
                             HasSubstr("has stood still in training, step "),
                             HasSubstr(": input for "), HasSubstr("wait")));
  EXPECT_THAT(last_record(), AllOf(HasSubstr("run_stop"), HasSubstr(": input for ")));
  EXPECT_TRUE(processes().empty());
}

TEST_F(StuckStorage, NamesTheRankWhoseEvaluationDataDoesNotCome) {
  block("data/validation");
  json object = config();
  object["staging"]["mode"] = "none";
  object["hang_timeout_s"] = kHangTimeoutS;
  const Ended run = shell(mpirun(2) + TRAINMARK " run " + saved(object));
  EXPECT_EQ(run.status, kSystem) << run.err;
  EXPECT_THAT(
      run.err,
      AllOf(HasSubstr("rank 1 (host "), HasSubstr("has stood still in evaluation: input for "),
            HasSubstr("rank 0 waits in evaluation"), HasSubstr("(MPI_Allreduce)")));
  EXPECT_TRUE(processes().empty());
}

}  // namespace
