// Tests of checkpoint names, of what --resume means, and of what is removed.
#include "runner/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>

#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/base/thrown_message.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

bool all_whole(const std::string& /*name*/) { return true; }

class CheckpointFolder : public testing::Test {
 protected:
  std::string folder() const { return folder_.path().string(); }
  std::string put(std::int64_t number, std::int64_t steps, const std::string& below = "") const {
    const std::string path =
        checkpoint_path(below.empty() ? folder() : folder() + "/" + below, number, steps);
    return folder_.write(fs::relative(path, folder()).string(), "x");
  }
  const base::TemporaryDirectory folder_;
};

TEST_F(CheckpointFolder, NamesSortByTheirNumber) {
  EXPECT_EQ(checkpoint_path("a/b", 7, 1200), "a/b/checkpoint_0007_step_1200.h5");
  put(10, 5);
  put(9, 70);
  put(100000, 6);
  std::vector<std::int64_t> numbers;
  for (const CheckpointFile& file : list_checkpoints(folder())) numbers.push_back(file.number);
  EXPECT_THAT(numbers, ElementsAre(9, 10, 100000));
  EXPECT_EQ(list_checkpoints(folder())[0].steps, 70);
}

TEST_F(CheckpointFolder, ListsCompleteCheckpointsAlone) {
  folder_.write("checkpoint_0001_step_5.h5.part", "");
  folder_.write("checkpoint_0001_step_.h5", "");
  folder_.write("checkpoint_-1_step_5.h5", "");
  folder_.write("checkpoint_0001_step_5.h5.bak", "");
  folder_.write("my_checkpoint_0001_step_5.h5", "");
  EXPECT_THAT(list_checkpoints(folder()), IsEmpty());
  EXPECT_THAT(list_checkpoints(folder() + "/absent"), IsEmpty());
}

TEST_F(CheckpointFolder, KeepsTheLastAndNothingUnfinished) {
  for (int n = 1; n <= 5; ++n) put(n, n * 10);
  folder_.write("checkpoint_0006_step_60.h5.part", "half");
  folder_.write("notes.txt", "mine");
  EXPECT_EQ(prune_checkpoints(folder(), 2, all_whole), "");
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder())) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, testing::UnorderedElementsAre("checkpoint_0004_step_40.h5",
                                                  "checkpoint_0005_step_50.h5", "notes.txt"));
}

TEST_F(CheckpointFolder, KeepsWhatWasWrittenLastThoughItsStepIsLower) {
  put(1, 100);
  put(2, 200);
  const std::string latest = put(3, 150);  // resumed from step 100
  EXPECT_EQ(prune_checkpoints(folder(), 1, all_whole), "");
  EXPECT_THAT(resume_candidates(folder()), ElementsAre(latest));
}

TEST_F(CheckpointFolder, KeepsAsManyWholeOnesPastADamagedOne) {
  const std::string good = put(5, 50), damaged = put(6, 60), next = put(7, 70);
  const auto is_whole = [&](const std::string& name) {
    return name != fs::path(damaged).filename();
  };
  put(4, 40);
  EXPECT_EQ(prune_checkpoints(folder(), 2, is_whole), "");
  EXPECT_THAT(resume_candidates(folder()), ElementsAre(next, damaged, good));
  const std::string last = put(8, 80);
  EXPECT_EQ(prune_checkpoints(folder(), 2, is_whole), "");
  EXPECT_THAT(resume_candidates(folder()), ElementsAre(last, next));
}

TEST_F(CheckpointFolder, NumbersTheNextOneIfItCan) {
  EXPECT_EQ(next_checkpoint_number(folder()), 1);
  put(41, 5);
  EXPECT_EQ(next_checkpoint_number(folder()), 42);
  const std::string last = put(std::numeric_limits<std::int64_t>::max(), 5);
  EXPECT_THAT(
      base::thrown_message<base::DataError>([&] { (void)next_checkpoint_number(folder()); }),
      HasSubstr(last + ": expected a number that another checkpoint can follow"));
}

TEST_F(CheckpointFolder, ResumesFromAFileAlone) {
  const std::string first = put(1, 10);
  put(2, 20);
  EXPECT_THAT(resume_candidates(first), ElementsAre(first));
}

TEST_F(CheckpointFolder, ResumesFromTheNewestOfAFolder) {
  const std::string first = put(1, 10), second = put(2, 20);
  EXPECT_THAT(resume_candidates(folder()), ElementsAre(second, first));
}

TEST_F(CheckpointFolder, ResumesTheLastRunThatWasSaved) {
  put(5, 50, "result_2.checkpoints");
  const std::string newest = put(1, 10, "result_10.checkpoints");
  fs::create_directories(folder_.path() / "result_11.checkpoints");
  put(9, 90, "result_99.checkpoints.old");
  EXPECT_THAT(resume_candidates(folder()), ElementsAre(newest));
}

TEST_F(CheckpointFolder, SaysWhereItFoundNone) {
  EXPECT_THAT(
      base::thrown_message<base::DataError>([&] { resume_candidates(folder()); }),
      HasSubstr(folder() + ": expected a checkpoint or a folder of checkpoints, found none"));
  const std::string absent = folder() + "/absent";
  EXPECT_THAT(
      base::thrown_message<base::DataError>([&] { resume_candidates(absent); }),
      HasSubstr(absent + ": expected a checkpoint or a folder of checkpoints, found nothing"));
}

TEST_F(CheckpointFolder, SaysWhatIsNeitherCheckpointNorFolder) {
  const std::string pipe = folder() + "/w.h5";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [path, kind] :
       {std::pair{pipe, "a pipe"}, {std::string("/dev/zero"), "a device"}}) {
    EXPECT_THAT(list_checkpoints(path), IsEmpty());
    EXPECT_THAT(
        base::thrown_message<base::DataError>([&, p = path] { resume_candidates(p); }),
        HasSubstr(path + ": expected a checkpoint or a folder of checkpoints, found " + kind));
  }
}

TEST_F(CheckpointFolder, PassesOverAFileNamedLikeARunsFolder) {
  const std::string saved = put(1, 10, "result_1.checkpoints");
  folder_.write("result_2.checkpoints", "x");
  EXPECT_THAT(saved_runs(folder()), ElementsAre(folder() + "/result_1.checkpoints"));
  EXPECT_THAT(resume_candidates(folder()), ElementsAre(saved));
}

}  // namespace
}  // namespace runner
