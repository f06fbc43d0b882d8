// The script command from outside: the examples in configs/jobs, errors, and submission to a
// scheduler.
#include <gmock/gmock.h>

#include "runner/stand_in.h"

namespace {

namespace fs = std::filesystem;
using outside::content;
using outside::Ended;
using testing::HasSubstr;
using testing::StartsWith;

class ScriptCommand : public outside::StandInTest {
 protected:
  Ended script(const std::string& arguments, const std::string& environment = "") const {
    return shell(environment + TRAINMARK " script " + arguments);
  }
};

constexpr char kRun[] = "configs/resnet50/quickstart.json --nodes 2 --cpus-per-rank 2 ";

TEST_F(ScriptCommand, WritesTheExamplesThatLieInConfigs) {
  const Ended written = shell("configs/jobs/write.sh " TRAINMARK " " + folder_.string());
  ASSERT_EQ(written.status, 0) << written.err;
  int examples = 0;
  for (const auto& entry : fs::directory_iterator("configs/jobs")) {
    const std::string name = entry.path().filename().string();
    if (name == "write.sh") continue;
    ++examples;
    EXPECT_EQ(shell("diff " + (folder_ / name).string() + " " + entry.path().string()).out, "")
        << name << ": write it anew with configs/jobs/write.sh";
  }
  EXPECT_GE(examples, 9);
  const Ended checked = shell("shellcheck configs/jobs/*");
  EXPECT_EQ(checked.status, 0) << checked.out;
}

TEST_F(ScriptCommand, PrintsAScriptThatIsAllOfItsOutput) {
  const Ended printed = script(std::string("slurm ") + kRun);
  EXPECT_EQ(printed.status, 0) << printed.err;
  EXPECT_EQ(printed.err, "");
  EXPECT_THAT(printed.out, StartsWith("#!/bin/bash\n"));
  EXPECT_THAT(printed.out, testing::EndsWith("leave \"$code\"\n"));
}

TEST_F(ScriptCommand, WritesAProgramThatCanBeStarted) {
  const fs::path file = folder_ / "my job.sh";
  const Ended written = script("pbs " + std::string(kRun) + "--output '" + file.string() + "'");
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(content(file), script(std::string("pbs ") + kRun).out);
  EXPECT_EQ(fs::status(file).permissions() & fs::perms::owner_exec, fs::perms::owner_exec);
}

TEST_F(ScriptCommand, ReadsTheConfigurationAsRunDoes) {
  const auto refused = [this](const std::string& arguments, const std::string& message) {
    const Ended ended = script(arguments);
    EXPECT_EQ(ended.status, 2) << arguments << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(ended.out, "");
  };
  refused("slurm absent.json --nodes 2", "absent.json: cannot open");
  refused(std::string("slurm ") + kRun + "--set epoch=3", "/epoch");
  refused("slurm configs/resnet50/quickstart.json --nodes 2", "--cpus-per-rank: required");
  refused("slurm configs/resnet50/quickstart.json --set threads=4 --cpus-per-rank 2",
          "--cpus-per-rank: expected at least the 4 of configs/resnet50/quickstart.json: /threads");
  refused("slurm configs/deepcam/mlperf_512.json --nodes 3 --cpus-per-rank 2",
          "on 3 nodes with 1 ranks each");
  refused(std::string("slurm ") + kRun + "--time 1:2", "--time: expected minutes or HH:MM:SS");
  refused(std::string("slurm ") + kRun + "--time 0", "--time: expected minutes or HH:MM:SS");
  refused(std::string("slurm ") + kRun + "--time 01:60:00", "--time: expected minutes");
  refused(std::string("moab ") + kRun, "SCHEDULER: expected one of slurm, pbs, lsf, flux");
  refused(std::string("slurm ") + kRun + "--together", "--together: only for a set");
  refused(std::string("slurm ") + kRun + "more", "expected options for the launcher after --");
  refused("slurm " + std::string(kRun) + "--set staging.mode=stream --scratch /scratch",
          "--scratch: this configuration stages nothing");
  refused(std::string("pbs ") + kRun + "--check", "--check: only Slurm");
}

TEST_F(ScriptCommand, RefusesMoreRanksThanMpiCanCount) {
  const Ended refused = script(
      "slurm configs/resnet50/quickstart.json --nodes 1000000 --ranks-per-node 1000000 "
      "--cpus-per-rank 1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("script: --nodes 1000000 with --ranks-per-node 1000000: "
                                     "expected at most 2147483647 ranks, got 1000000000000"));
}

TEST_F(ScriptCommand, PassesTheRestToTheLauncher) {
  const Ended printed = script(std::string("slurm ") + kRun + "-- --mca btl 'tcp,self' -x 'A=b c'");
  EXPECT_EQ(printed.status, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("--mca btl 'tcp,self' -x 'A=b c')\n"));
}

TEST_F(ScriptCommand, HandsTheScriptToTheSchedulerAndLetsItsAnswerThrough) {
  const std::string environment = fake("sbatch", "4711", 0);
  const Ended submitted = script(std::string("slurm ") + kRun + "--submit", environment);
  EXPECT_EQ(submitted.status, 0) << submitted.err;
  EXPECT_EQ(submitted.out, "4711\n");
  EXPECT_EQ(content(folder_ / "arguments"), "--parsable\n");
  EXPECT_EQ(content(folder_ / "input"), script(std::string("slurm ") + kRun).out);

  fs::remove(folder_ / "arguments");
  EXPECT_EQ(script(std::string("slurm ") + kRun + "--check", environment).status, 0);
  EXPECT_EQ(content(folder_ / "arguments"), "--test-only\n");
}

TEST_F(ScriptCommand, SubmitsEachMemberOfASetWhereThereAreNoArrays) {
  const std::string environment = fake("flux", "f1", 0);
  const Ended submitted = script(std::string("flux ") + kRun + "--runs 3 --submit", environment);
  EXPECT_EQ(submitted.status, 0) << submitted.err;
  EXPECT_EQ(content(folder_ / "arguments"),
            "batch --env=MEMBER=1\nbatch --env=MEMBER=2\nbatch --env=MEMBER=3\n");
}

TEST_F(ScriptCommand, SaysWhyAJobWasNotSubmitted) {
  const Ended absent = script(std::string("lsf ") + kRun + "--submit", "PATH=/nothing ");
  EXPECT_EQ(absent.status, 4);
  EXPECT_THAT(absent.err, HasSubstr("bsub: no such command here"));
  const Ended refused =
      script(std::string("pbs ") + kRun + "--submit", fake("qsub", "no such queue", 3));
  EXPECT_EQ(refused.status, 4);
  EXPECT_THAT(refused.err, HasSubstr("qsub refused the job: exit code 3"));
}

}  // namespace
