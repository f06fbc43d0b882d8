// Tests that a run killed at any moment, on any rank, resumes and ends in the same bits. A
// preloaded library finds the moments by counting calls and clock reads.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/base/error.h"
#include "runner/base/temporary_directory.h"
#include "runner/checkpoint_folder.h"
#include "runner/checkpoint_record.h"
#include "staging/checkpoint_header.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::Ended;
using outside::kTargetMissed;

constexpr int kCheckpoints = 4;  // number of checkpoints of such a run

/// The final bits of a training: every array of its last checkpoint, and its evaluations.
struct Final {
  std::map<std::string, std::string> arrays;
  std::vector<std::pair<std::int64_t, double>> evaluations;
  std::int64_t steps = 0;
  bool operator==(const Final&) const = default;
};

Final read_final(const std::string& folder) {
  const std::string path = runner::resume_candidates(folder).front();
  const std::string bytes = outside::content(path);
  const auto header = staging::parse_header(bytes, static_cast<std::int64_t>(bytes.size()), path);
  Final final;
  for (const staging::CheckpointArray& array : header.arrays) {
    final.arrays[array.name] = bytes.substr(static_cast<std::size_t>(array.offset),
                                            static_cast<std::size_t>(array.total_bytes()));
  }
  const runner::RunPosition at = runner::parse_record(header.about, path).position;
  for (const runner::EvaluationPoint& one : at.evaluations) {
    final.evaluations.emplace_back(one.epoch_num, one.quality);
  }
  final.steps = at.steps_done;
  return final;
}

/// The library's counts on a rank.
struct Moments {
  long part_calls = 0, ticks = 0;
};

class Kill : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string data = (folder_.path() / "data").string();
    const Ended made =
        outside::shell(PROGRAM " generate resnet50 --output " + data +
                           " --classes 3 --train-per-class 40 --validation-per-class 7",
                       folder_.path());
    ASSERT_EQ(made.status, 0) << made.err;
    const json config = {{"workload", "resnet50"},
                         {"seed", 11},
                         {"epochs", 2},
                         {"threads", 1},
                         {"clear_caches", "never"},
                         {"target", {{"quality", 2.0}}},
                         {"checkpoint", {{"every_steps", 5}}},
                         {"results", {{"system", "box"}}},
                         {"dataset",
                          {{"train", data + "/train"},
                           {"validation", data + "/validation"},
                           {"preprocess", "cifar"},
                           {"decode_threads", 1}}},
                         {"staging", {{"directory", (folder_.path() / "staged").string()}}},
                         {"model", {{"image_size", 32}, {"classes", 3}, {"width", 16}}},
                         {"training", {{"global_batch_size", 12}, {"bn_group_samples", 4}}},
                         {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
                         {"schedule", {{"name", "cosine"}, {"learning_rate", 0.05}}}};
    folder_.write("config.json", config.dump());
  }

  std::string results(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string saved(const std::string& name) const { return results(name) + "/box/resnet50"; }

  Ended train(const std::string& name, const std::string& fault,
              const std::string& options = "") const {
    const std::string counts = fault.empty() ? counts_path().string() : "";
    return outside::shell(outside::mpirun_with_faults(GetParam(), fault, counts) + PROGRAM " run " +
                              (folder_.path() / "config.json").string() +
                              " --set results.directory=" + results(name) + options,
                          folder_.path());
  }
  fs::path counts_path() const { return folder_.path() / "counts"; }

  /// Runs undisturbed, and records the final bits and the counts of each rank.
  void measure() {
    const Ended run = train("undisturbed", "");
    ASSERT_EQ(run.status, kTargetMissed) << run.err;
    expected_ = read_final(saved("undisturbed"));
    ASSERT_EQ(expected_.steps, 20);
    ASSERT_EQ(expected_.evaluations.size(), 2U);
    for (int rank = 0; rank < GetParam(); ++rank) {
      std::istringstream counts(
          outside::content(counts_path().string() + "." + std::to_string(rank)));
      Moments moments;
      counts >> moments.part_calls >> moments.ticks;
      ASSERT_GT(moments.part_calls, 3 * kCheckpoints) << rank;
      ASSERT_GT(moments.ticks, 0) << rank;
      moments_.push_back(moments);
    }
  }

  /// Kills a run by `fault`, resumes it (or restarts it if nothing was saved yet), and compares.
  void kill_and_resume(const std::string& fault) {
    SCOPED_TRACE(fault);
    const std::string name = "killed_" + std::to_string(++killed_);
    const Ended killed = train(name, fault);
    ASSERT_NE(killed.status, kTargetMissed) << "it was not killed: " << killed.err;
    std::string option;
    try {
      runner::resume_candidates(saved(name));
      option = " --resume";
      ++resumed_;
    } catch (const base::DataError&) {
    }
    const Ended rest = train(name, "", option);
    ASSERT_EQ(rest.status, kTargetMissed) << rest.err;
    EXPECT_EQ(read_final(saved(name)), expected_);
    for (const auto& file : fs::recursive_directory_iterator(saved(name))) {
      EXPECT_NE(file.path().extension(), ".part") << file.path();
    }
    fs::remove_all(results(name));
  }

  std::string at_part_call(int rank, double share) const {
    const auto calls = static_cast<double>(moments_.at(static_cast<std::size_t>(rank)).part_calls);
    return std::to_string(rank) + ":part:" + std::to_string(static_cast<long>(1 + share * calls));
  }
  /// Other runs read the clock less or more often, so only the first four fifths of the ticks are
  /// used.
  std::string at_tick(int rank, double share) const {
    const auto ticks = static_cast<double>(moments_.at(static_cast<std::size_t>(rank)).ticks);
    return std::to_string(rank) + ":tick:" + std::to_string(static_cast<long>(0.8 * share * ticks));
  }
  int last() const { return GetParam() - 1; }

  const base::TemporaryDirectory folder_;
  Final expected_;
  std::vector<Moments> moments_;
  int killed_ = 0, resumed_ = 0;
};

#ifndef ALL_MOMENTS
TEST_P(Kill, EndsInTheSameBits) {
  ASSERT_NO_FATAL_FAILURE(measure());
  kill_and_resume(at_part_call(last(), 0.55));
  kill_and_resume(GetParam() == 2 ? "0:rename:3" : at_tick(0, 0.9));
  EXPECT_GE(resumed_, 1);
}
#else
TEST_P(Kill, EndsInTheSameBitsAtManyMoments) {
  ASSERT_NO_FATAL_FAILURE(measure());
  // Ten for each number of ranks: five while a checkpoint is written, five anywhere.
  kill_and_resume("0:rename:" + std::to_string(1 + GetParam()));
  kill_and_resume("0:renamed:" + std::to_string(1 + GetParam()));
  for (int i = 0; i < 3; ++i) {
    kill_and_resume(at_part_call((last() + i) % GetParam(), 0.2 + 0.3 * i + 0.03 * GetParam()));
  }
  for (int i = 0; i < 5; ++i) {
    kill_and_resume(at_tick((i + 1) % GetParam(), 0.1 + 0.2 * i + 0.03 * GetParam()));
  }
  EXPECT_GE(resumed_, 5);
}
#endif

INSTANTIATE_TEST_SUITE_P(Ranks, Kill, testing::Values(1, 2, 3));

}  // namespace
