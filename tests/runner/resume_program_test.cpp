// Tests of saving and resuming from outside: signals, exit codes, messages, full disks.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/toy_run.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using testing::HasSubstr;
using testing::Not;

class ResumeProgram : public outside::ToyRun {
 protected:
  /// With a target that is never met.
  std::string config(const json& overrides = json::object()) const {
    json object = {{"target", {{"quality", 2.0}}}};
    object.update(overrides);
    return ToyRun::config(object);
  }
  std::vector<std::string> saved(const std::string& run = "result_1.checkpoints") const {
    std::vector<std::string> names;
    if (!fs::exists(results(run))) return names;
    for (const auto& entry : fs::directory_iterator(results(run))) {
      const std::string name = entry.path().filename();
      if (name.starts_with("checkpoint_")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(ResumeProgram, SavesOnASignalAndGoesOn) {
  const Ended run = toy_on(2, "run " + config({{"model", {{"checkpoint_at_step", 33}}}}));
  EXPECT_EQ(run.status, 6) << run.err;
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_THAT(saved()[0], HasSubstr("checkpoint_0001_step_"));
  EXPECT_THAT(run.err, HasSubstr("checkpoint after step"));
  EXPECT_THAT(content(results("result_1.txt")), HasSubstr("not reached in 8 epochs"));
}

TEST_F(ResumeProgram, KeepsTheLastByStepsAndResumesAKilledRun) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 7}}}});
  ASSERT_EQ(toy_on(2, "run " + saving).status, 6);
  const std::string weights = content(results("result_1.weights.h5"));
  EXPECT_THAT(saved(),
              testing::ElementsAre("checkpoint_0010_step_70.h5", "checkpoint_0011_step_77.h5"));

  toy_on(2, "run " + saving + " --set model.kill_at_step=38");
  EXPECT_THAT(saved("result_2.checkpoints"),
              testing::ElementsAre("checkpoint_0004_step_28.h5", "checkpoint_0005_step_35.h5"));
  const Ended resumed = toy_on(2, "run " + saving + " --resume");
  EXPECT_EQ(resumed.status, 6) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("value=none unit=s status=target_missed"));
  EXPECT_THAT(resumed.out, HasSubstr("resumed_at_step=35 all_parts_s="));
  EXPECT_EQ(content(results("result_3.weights.h5")), weights);
  EXPECT_THAT(saved("result_2.checkpoints"),
              testing::ElementsAre("checkpoint_0010_step_70.h5", "checkpoint_0011_step_77.h5"));
  EXPECT_FALSE(fs::exists(results("result_3.checkpoints")));

  const std::string log = content(results("result_3.txt"));
  EXPECT_THAT(log, HasSubstr("\"key\": \"resumed\", \"value\": true"));
  EXPECT_THAT(log, HasSubstr("\"epoch_num\": 4, \"step\": 35"));
  EXPECT_THAT(log, HasSubstr("\"first_epoch_num\": 4"));
  EXPECT_THAT(log, Not(HasSubstr("\"first_epoch_num\": 3")));
  EXPECT_THAT(log, Not(HasSubstr("eval_accuracy\", \"value\": 0.3")));
  EXPECT_EQ(
      json::parse(content(results("result_3.telemetry.json")))["provenance"]["resumed"]["step"],
      35);
}

TEST_F(ResumeProgram, EndsWithSevenOnEachSignalAndSavesWhatIsScheduled) {
  // No checkpoint is due before the signal, so that the saved state is where the signal stopped the
  // run.
  const std::string saving = config({{"checkpoint", {{"every_steps", 1000}}}});
  ASSERT_EQ(toy_on(2, "run " + saving).status, 6);
  int run = 1;
  for (const std::string signal : {"TERM", "INT", "HUP", "XCPU", "QUIT", "USR2"}) {
    const std::string stopping =
        saving + " --set model.signal=" + signal + " --set model.signal_at_step=33";
    const Ended stopped = toy_on(2, "run " + stopping + " --set model.signals=2");
    EXPECT_EQ(stopped.status, 7) << signal << stopped.err;
    const std::string name = "result_" + std::to_string(++run);
    // If a busy machine takes longer than mpirun waits, the log says where the run was.
    EXPECT_THAT(
        content(results(name + ".txt")),
        testing::ContainsRegex("(stopped|told to end) by SIG" + signal + " (after|during) "));
    EXPECT_TRUE(fs::exists(results(name + ".weights.h5")));
    EXPECT_TRUE(fs::exists(results(name + ".telemetry.json")));
    ASSERT_EQ(saved(name + ".checkpoints").size(), 1U) << signal;
    ASSERT_EQ(toy_on(2, "run " + saving + " --resume").status, 6);
    const std::string resumed = "result_" + std::to_string(++run) + ".weights.h5";
    EXPECT_EQ(content(results(resumed)), content(results("result_1.weights.h5"))) << signal;
  }
}

TEST_F(ResumeProgram, SavesOnSigusr2WithoutASchedule) {
  const Ended stopped =
      toy_on(2, "run " + config({{"model", {{"signal", "USR2"}, {"signal_at_step", 33}}}}));
  EXPECT_EQ(stopped.status, 7) << stopped.err;
  EXPECT_EQ(saved().size(), 1U);
  toy_on(2, "run " + config({{"model", {{"signal", "TERM"}, {"signal_at_step", 33}}}}));
  EXPECT_TRUE(saved("result_2.checkpoints").empty());
}

TEST_F(ResumeProgram, BranchesOffFromAFileWithoutTouchingItsFolder) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  ASSERT_EQ(toy_on(1, "run " + saving).status, 6);
  const auto before = saved();
  const std::string chosen = results("result_1.checkpoints/" + before.front()).string();
  ASSERT_EQ(toy_on(1, "run " + saving + " --resume " + chosen).status, 6);
  EXPECT_EQ(saved(), before);
  EXPECT_EQ(saved("result_2.checkpoints").size(), 1U);
  EXPECT_EQ(content(results("result_2.weights.h5")), content(results("result_1.weights.h5")));
}

TEST_F(ResumeProgram, PassesOverADamagedCheckpointAndSaysSo) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  ASSERT_EQ(toy_on(2, "run " + saving).status, 6);
  const fs::path newest = results("result_1.checkpoints/" + saved().back());
  fs::resize_file(newest, fs::file_size(newest) - 1);
  const Ended resumed = toy_on(2, "run " + saving + " --resume");
  EXPECT_EQ(resumed.status, 6) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on with the checkpoint before"));
  EXPECT_THAT(resumed.out, HasSubstr("resumed_at_step=60"));
  // Two whole ones stay, and the damaged one does not count.
  EXPECT_THAT(saved(),
              testing::ElementsAre("checkpoint_0003_step_60.h5", "checkpoint_0004_step_80.h5",
                                   "checkpoint_0005_step_80.h5"));
  const Ended refused = toy_on(2, "run " + saving + " --resume " + (folder_ / "toy.json").string());
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("toy.json: expected a checkpoint"));
}

TEST_F(ResumeProgram, EndsTheLogOfARunThatCannotHaveItsFolderOfCheckpoints) {
  const std::string folder = (folder_ / "saved/box/toy/result_1.checkpoints").string();
  fs::create_directories(folder);
  fs::create_symlink(folder_ / "toy.json", folder + "/owner.lock");
  const std::string saving =
      config({{"checkpoint", {{"every_steps", 10}, {"directory", (folder_ / "saved").string()}}}});
  for (const int ranks : {1, 2}) {
    const Ended refused = ranks == 1 ? toy("run " + saving) : toy_on(ranks, "run " + saving);
    const std::string why = "result_1.checkpoints/owner.lock: cannot be opened: Too many levels";
    EXPECT_EQ(refused.status, 4);
    EXPECT_THAT(refused.err, HasSubstr(why));
    EXPECT_THAT(content(results("result_1.txt")),
                testing::AllOf(HasSubstr("run_stop"), HasSubstr("aborted"), HasSubstr(why)));
    fs::remove_all(results());
  }
}

TEST_F(ResumeProgram, RefusesNumbersThatNoneCanFollowBeforeItTrains) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  ASSERT_EQ(toy_on(1, "run " + saving + " --set model.kill_at_step=25").status,
            outside::kKilledStatus);
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  fs::rename(results("result_1.checkpoints/checkpoint_0001_step_20.h5"),
             results("result_1.checkpoints/checkpoint_" + most + "_step_20.h5"));
  const Ended resumed = toy_on(1, "run " + saving + " --resume");
  EXPECT_EQ(resumed.status, 3) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("checkpoint_" + most + "_step_20.h5: expected a number"));
  std::ofstream(results("result_" + most + ".txt")) << "x";
  const Ended claimed = toy_on(1, "run " + saving);
  EXPECT_EQ(claimed.status, 3) << claimed.err;
  EXPECT_THAT(claimed.err, HasSubstr("found " + most));
}

TEST_F(ResumeProgram, RefusesACheckpointOfAnotherConfiguration) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  ASSERT_EQ(toy_on(2, "run " + saving).status, 6);
  const Ended refused = toy_on(2, "run " + saving + " --resume --set evaluation.every_epochs=2");
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("saved with another configuration: /evaluation/every_epochs: "
                                     "expected 1, found 2"));
  EXPECT_EQ(toy_on(2, "run " + saving + " --resume --set seed=6").status, 3);
  EXPECT_EQ(toy_on(2, "run " + saving + " --resume --runs 2").status, 2);
  EXPECT_FALSE(fs::exists(results("result_2.txt")));
  // Keys without effect on the mathematics may change, and a seed of 0 means the checkpoint's.
  EXPECT_EQ(toy_on(2, "run " + saving +
                          " --resume --set seed=0 --set checkpoint.keep_last=9 --set "
                          "epochs=9")
                .status,
            6);
  EXPECT_EQ(json::parse(content(results("result_2.config.json")))["seed"], 5);
}

TEST_F(ResumeProgram, TakesTheNewestOfThisConfigurationAndSeed) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  ASSERT_EQ(toy_on(1, "run " + saving + " --set model.kill_at_step=25").status,
            outside::kKilledStatus);
  ASSERT_EQ(toy_on(1, "run " + saving + " --set seed=6").status, 6);
  ASSERT_EQ(toy_on(1, "run " + saving + " --set evaluation.every_epochs=2").status, 6);
  const Ended planned = toy_on(1, "run --dry-run --json - " + saving + " --resume");
  EXPECT_EQ(json::parse(planned.out)["checkpoint"]["resume_from"],
            results("result_1.checkpoints/checkpoint_0001_step_20.h5").string());
  const Ended resumed = toy_on(1, "run " + saving + " --resume");
  EXPECT_EQ(resumed.status, 6) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("resumed_at_step=20"));
  EXPECT_THAT(resumed.err, HasSubstr("passed over: " + results("result_3.checkpoints").string()));
  EXPECT_THAT(resumed.err, HasSubstr("/evaluation/every_epochs: expected 2, found 1"));
  EXPECT_THAT(resumed.err, HasSubstr("/seed: expected 6, found 5"));
  const Ended other = toy_on(1, "run " + saving + " --resume --set seed=6");
  EXPECT_THAT(other.out, HasSubstr("resumed_at_step=80"));
}

TEST_F(ResumeProgram, BeginsWhereNothingIsSavedIfItMay) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  const Ended begun = toy_on(2, "run " + saving + " --resume-or-start --set model.kill_at_step=25");
  EXPECT_EQ(begun.status, outside::kKilledStatus);
  EXPECT_THAT(begun.err, HasSubstr("nothing to go on from"));
  const Ended resumed = toy_on(2, "run " + saving + " --resume-or-start");
  EXPECT_EQ(resumed.status, 6) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("resumed_at_step=20"));
  EXPECT_EQ(toy_on(1, "run " + saving + " --resume-or-start --resume").status, 2);
  EXPECT_EQ(toy_on(1, "run " + saving + " --resume-or-start --runs 2").status, 2);
  // That run has ended by itself: the next one is a new one.
  const Ended next = toy_on(1, "run " + saving + " --resume-or-start --set seed=0");
  EXPECT_EQ(next.status, 6) << next.err;
  EXPECT_THAT(next.err, HasSubstr("its run is finished"));
  EXPECT_THAT(next.out, Not(HasSubstr("resumed_at_step")));
  const Ended plan =
      toy_on(1, "run " + saving + " --resume-or-start --dry-run --set results.system=a");
  EXPECT_EQ(plan.status, 0) << plan.err;
}

TEST_F(ResumeProgram, NeverTakesTheCheckpointsOfALivingRun) {
  const json standing = {{"kind", "stand_still"}, {"step", 45}};
  const std::string saving =
      config({{"checkpoint", {{"every_steps", 20}}}, {"strike", standing}, {"hang_timeout_s", 0}});
  const outside::Started first = start("exec " TOY_PROGRAM " run " + saving);
  ASSERT_TRUE(comes([&] { return saved().size() == 2U; }));
  const fs::path elsewhere = folder_ / "second";
  fs::create_directory(elsewhere);
  const auto second = [&](const std::string& how) {
    return outside::shell(TOY_PROGRAM " run " + saving + " --set strike.kind=none " + how,
                          elsewhere);
  };
  const Ended refused = second("--resume");
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("process " + std::to_string(first.process)));
  EXPECT_THAT(refused.err, HasSubstr("saves its run there"));
  const Ended planned = second("--resume --dry-run");
  EXPECT_EQ(planned.status, 3);
  EXPECT_THAT(planned.err, HasSubstr("saves its run there"));
  EXPECT_EQ(second("--resume-or-start").status, 6);
  EXPECT_EQ(saved("result_2.checkpoints").size(), 2U);
  EXPECT_EQ(saved().size(), 2U);
  // A dead run owns nothing; its state is that of the run that completed.
  ASSERT_EQ(::kill(first.process, SIGKILL), 0);
  outside::wait(first);
  fs::remove_all(results("result_2.checkpoints"));
  const Ended resumed = second("--resume");
  EXPECT_EQ(resumed.status, 6) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("resumed_at_step=40"));
  EXPECT_EQ(content(results("result_3.weights.h5")), content(results("result_2.weights.h5")));
  EXPECT_EQ(saved().size(), 2U);
}

TEST_F(ResumeProgram, SaysThatBitsDifferOnAnotherNumberOfRanks) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  ASSERT_EQ(toy_on(2, "run " + saving).status, 6);
  const Ended resumed = toy_on(1, "run " + saving + " --resume");
  EXPECT_EQ(resumed.status, 6) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("WARNING: ranks: 2 then, 1 now: the last bits will differ"));
}

TEST_F(ResumeProgram, FindsNothingToResume) {
  const Ended run = toy_on(1, "run " + config() + " --resume");
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err,
              HasSubstr("expected a checkpoint or a folder of checkpoints, found nothing"));
  const std::string pipe = (folder_ / "w.h5").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [path, kind] :
       {std::pair{pipe, "a pipe"}, std::pair{std::string("/dev/zero"), "a device"}}) {
    const Ended refused = toy("run " + config() + " --resume " + path);
    EXPECT_EQ(refused.status, 3);
    EXPECT_THAT(
        refused.err,
        HasSubstr(path + ": expected a checkpoint or a folder of checkpoints, found " + kind));
  }
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(ResumeProgram, PlansSizeAndPlace) {
  const Ended plan = toy_on(1, "run --dry-run --json - " + config());
  ASSERT_EQ(plan.status, 0) << plan.err;
  const json checkpoint = json::parse(plan.out)["checkpoint"];
  EXPECT_EQ(checkpoint["folder"], (folder_ / "results/box/toy").string());
  EXPECT_EQ(checkpoint["bytes_each"], 16);
  EXPECT_EQ(checkpoint["bytes_at_most"], 48);
}

TEST_F(ResumeProgram, EndsOnAFullDiskWithTheCheckpointBeforeAsItWas) {
  const std::string saving = config({{"checkpoint", {{"every_steps", 20}}}});
  // HDF5's own bytes, a piece of rank 1, and rank 0's late writes.
  for (const char* fault : {"0:full:1", "1:full:1", "0:full:5"}) {
    SCOPED_TRACE(fault);
    fs::remove_all(folder_ / "results");
    toy_on(2, "run " + saving + " --set model.kill_at_step=25");
    ASSERT_EQ(saved(), std::vector<std::string>{"checkpoint_0001_step_20.h5"});
    const std::string before = content(results("result_1.checkpoints/checkpoint_0001_step_20.h5"));
    const Ended full =
        shell(outside::mpirun_with_faults(2, fault) + TOY_PROGRAM " run " + saving + " --resume");
    EXPECT_EQ(full.status, 4) << full.err;
    EXPECT_THAT(full.err, HasSubstr("checkpoint_0002_step_40.h5"));
    EXPECT_THAT(full.err, HasSubstr("No space left on device"));
    const std::string log = content(results("result_2.txt"));
    EXPECT_THAT(log, HasSubstr("\"key\": \"run_stop\""));
    EXPECT_THAT(log, HasSubstr("\"status\": \"aborted\""));
    ASSERT_EQ(saved(), std::vector<std::string>{"checkpoint_0001_step_20.h5"});
    EXPECT_EQ(content(results("result_1.checkpoints/checkpoint_0001_step_20.h5")), before);
    EXPECT_EQ(toy_on(2, "run " + saving + " --resume").status, 6);
  }
}

TEST_F(ResumeProgram, CallsSavingCheckpointTime) {
  toy_on(2, "run " + config({{"checkpoint", {{"every_steps", 10}}}}));
  const json report = json::parse(content(results("result_1.telemetry.json")));
  for (const json& rank : report["ranks"]) {
    EXPECT_GT(rank["subsystems_s"]["checkpoint"].get<double>(), 0.0);
  }
}

}  // namespace
}  // namespace runner
