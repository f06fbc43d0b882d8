// Tests of jobs that lose a rank: killed, stopped, out of memory, or stuck. All jobs end, say why,
// and leave nothing behind.
#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "launch_with_faults.h"
#include "runner/toy_run.h"

namespace runner {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using outside::mpirun;
using outside::Started;
using outside::wait;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// Long enough for ranks delayed by a busy machine, short enough for a test.
constexpr int kHangTimeoutS = 5;
/// The program's defaults.
constexpr int kUsualHangTimeoutS = 600;
constexpr int kLostTimeoutS = 8;
constexpr double kGoneWithinS = 15.0;
/// In the launcher's message on a rank that SIGKILL ended.
constexpr const char* kKilledText = outside::kIsHydra ? "EXIT CODE: 9" : "signal 9";

class LostRank : public outside::ToyRun {
 protected:
  std::string config(const json& strike, int hang_timeout_s = kUsualHangTimeoutS) const {
    return ToyRun::config({{"strike", strike}, {"hang_timeout_s", hang_timeout_s}});
  }
  Ended run_on(int ranks, const std::string& file) const { return toy_on(ranks, "run " + file); }

  /// Runs with a fault; the job must end in time and leave no process.
  Ended ends(int ranks, const json& strike, int hang_timeout_s = kUsualHangTimeoutS) const {
    // The time to start is not counted.
    const double start_s = run_on(ranks, config({{"kind", "none"}})).seconds;
    fs::remove_all(folder_ / "results");
    const Ended run = run_on(ranks, config(strike, hang_timeout_s));
    EXPECT_LT(run.seconds, kGoneWithinS + 2 * start_s);
    EXPECT_TRUE(all_end());
    return run;
  }

  json run_stop() const {
    std::istringstream log(content(results("result_1.txt")));
    json last;
    int stops = 0;
    for (std::string line; std::getline(log, line);) {
      last = json::parse(line.substr(line.find('{')), nullptr, false);
      if (!last.is_discarded() && last["key"] == "run_stop") ++stops;
    }
    EXPECT_EQ(stops, 1);
    EXPECT_EQ(last["key"], "run_stop") << last;
    return last["metadata"];
  }

  void expect_aborted(const testing::Matcher<std::string>& reason) const {
    const json stop = run_stop();
    EXPECT_EQ(stop["status"], "aborted");
    EXPECT_THAT(stop.value("reason", ""), reason);
  }
};

TEST_F(LostRank, EndsWhenOneIsKilled) {
  const Ended run = ends(2, {{"kind", "kill"}, {"rank", 1}, {"during", "train"}, {"step", 15}});
  EXPECT_EQ(run.status, outside::kKilledStatus);
  EXPECT_THAT(outside::kIsHydra ? run.out : run.err, HasSubstr(kKilledText));
  if (!outside::kWarnsRanks) return;
  expect_aborted(testing::ContainsRegex(
      "told to end by SIGTERM during training.*; rank 1 .* does not answer any more"));
}

TEST_F(LostRank, EndsWhenRankZeroIsKilled) {
  const Ended run = ends(2, {{"kind", "kill"}, {"rank", 0}, {"during", "evaluate"}});
  EXPECT_EQ(run.status, outside::kKilledStatus);
  EXPECT_THAT(outside::kIsHydra ? run.out : run.err, HasSubstr(kKilledText));
}

TEST_F(LostRank, EndsAndNamesOneThatIsStopped) {
  const Ended run = ends(3, {{"kind", "stop"}, {"rank", 2}, {"during", "train"}, {"step", 15}});
  EXPECT_EQ(run.status, 4);
  const auto told =
      AllOf(HasSubstr("rank 2 (host "), ContainsRegex("has not been heard of for [0-9]+ s"),
            HasSubstr("it was last seen in "), HasSubstr("ranks 0-1 wait in training, step 21"),
            HasSubstr("(MPI_Allreduce)"));
  EXPECT_THAT(run.err, HasSubstr("rank 0: rank 2 "));
  EXPECT_THAT(run.err, told);
  EXPECT_THAT(run.err, Not(HasSubstr("rank 1: ")));  // reported only once
  expect_aborted(told);
}

TEST_F(LostRank, EndsAndNamesRankZeroWhereItIsTheOneThatIsStopped) {
  const Ended run = ends(3, {{"kind", "stop"}, {"rank", 0}, {"during", "evaluate"}});
  // Without a warning, this depends on which rank ends first.
  EXPECT_TRUE(run.status == 4 || (!outside::kWarnsRanks && run.status == outside::kKilledStatus))
      << run.status;
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("rank 1: rank 0 (host "), HasSubstr("has not been heard of for"),
                    HasSubstr("rank 1 waits in evaluation")));
  if (!outside::kWarnsRanks) return;
  // For its SIGTERM the launcher resumes the stopped rank, which can then report.
  expect_aborted(AllOf(HasSubstr("told to end by SIGTERM during evaluation"),
                       HasSubstr("rank 0 was stopped or had no CPU time for "),
                       Not(HasSubstr("does not answer"))));
}

TEST_F(LostRank, EndsAndNamesOneThatStandsStill) {
  const Ended run = ends(
      2, {{"kind", "stand_still"}, {"rank", 1}, {"during", "train"}, {"step", 12}}, kHangTimeoutS);
  EXPECT_EQ(run.status, 4);
  const auto told =
      AllOf(HasSubstr("rank 1 (host "), HasSubstr("has stood still in training, step "),
            HasSubstr(": input for "), HasSubstr("rank 0 waits in training"));
  EXPECT_THAT(run.err, told);
  expect_aborted(told);
}

TEST_F(LostRank, EndsWhenOneIsStoppedAfterTheRun) {
  const Ended run = ends(2, {{"kind", "stop"}, {"rank", 1}, {"during", "clean_up"}});
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("rank 0 waits in clean-up (MPI_Barrier)"));
  EXPECT_EQ(run_stop()["status"], "success");
}

TEST_F(LostRank, EndsAndNamesOneThatIsStoppedBeforeMpiStarts) {
  const std::string stopped = "sh -c 'test $" MPIEXEC_RANK " != 1 || kill -STOP $$; exec ";
  const Ended run = shell(mpirun(3) + stopped + TOY_PROGRAM " run " + config({{"kind", "none"}}) +
                          " --mpi-timeout 3'");
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("rank 0 (host "), HasSubstr("MPI's start has taken more than 3 s"),
                    HasSubstr("not all 3 ranks have come: stopped on this host ("),
                    HasSubstr("): rank 1 (process ")));
  EXPECT_THAT(run.err, Not(HasSubstr("rank 2 (host ")));  // reported only once
  EXPECT_FALSE(fs::exists(folder_ / "results"));
  EXPECT_TRUE(all_end());
}

TEST_F(LostRank, EndsWhereTheLauncherIsAnotherMpis) {
  const std::string other = outside::kIsHydra ? "mpirun.openmpi" : "mpiexec.mpich";
  if (shell("command -v " + other).status != 0) GTEST_SKIP() << other << " is not installed";
  const std::string allow = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ";
  const Ended run =
      shell(allow + other + " -n 2 " + TOY_PROGRAM " run " + config({{"kind", "none"}}));
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("started 2 processes, but each would do the whole job alone, as "
                                 "MPI does not know the others: "));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(LostRank, EndsWhereTheFirstSumIsWrongOrMakesNoProgress) {
  const std::pair<const char*, const char*> faults[] = {
      {"1:sum:1", "MPI_Isend: element 683 of the first sum: expected 3 ones to be 3, found 10. "},
      {"1:stuck:1", "MPI's first sum has taken more than 3 s"}};
  for (const auto& [fault, message] : faults) {
    const Ended run = shell(outside::mpirun_with_faults(3, fault) + TOY_PROGRAM " run " +
                            config({{"kind", "none"}}) + " --mpi-timeout 3");
    EXPECT_EQ(run.status, 4) << fault;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_FALSE(fs::exists(folder_ / "results"));
    EXPECT_TRUE(all_end());
  }
}

TEST_F(LostRank, EndsWhenRankZeroIsStoppedBeforeMpiStarts) {
  const std::string stopped = "sh -c 'test $" MPIEXEC_RANK " != 0 || kill -STOP $$; exec ";
  const Ended run = shell("env TRAINMARK_MPI_TIMEOUT_S=3 " + mpirun(2) + stopped + TOY_PROGRAM +
                          " run " + config({{"kind", "none"}}) + "'");
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, AllOf(HasSubstr("rank 1 (host "), HasSubstr("stopped on this host ("),
                             HasSubstr("): rank 0 (process ")));
  EXPECT_TRUE(all_end());
}

TEST_F(LostRank, EndsWhenOneIsStoppedWhileMpiEnds) {
  const Ended run = shell(outside::mpirun_with_faults(2, "1:finalize:1") + TOY_PROGRAM " run " +
                          config({{"kind", "none"}}) + " --mpi-timeout 8");
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("rank 0 (host "), HasSubstr("MPI's end has taken more than 8 s"),
                    HasSubstr("stopped on this host ("), HasSubstr("): rank 1 (process ")));
  EXPECT_EQ(run_stop()["status"], "success");  // it was true when it was written
  EXPECT_TRUE(all_end());
}

TEST_F(LostRank, RefusesALimitOfMpisStartThatIsNone) {
  for (const char* wrong : {"--mpi-timeout -1", "--mpi-timeout soon", "--mpi-timeout 1e9"}) {
    const Ended run = shell(TOY_PROGRAM " run " + config({{"kind", "none"}}) + " " + wrong);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr("--mpi-timeout"));
  }
  const Ended run =
      shell("env TRAINMARK_MPI_TIMEOUT_S=x " TOY_PROGRAM " run " + config({{"kind", "none"}}));
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err,
              HasSubstr("TRAINMARK_MPI_TIMEOUT_S: expected 0 to 86400 seconds, found 'x'"));
}

TEST_F(LostRank, EndsWhenRanksWaitInDifferentCalls) {
  const Ended run =
      ends(2, {{"kind", "leave_others"}, {"rank", 1}, {"during", "stage"}}, kHangTimeoutS);
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("every rank waits for another"));
  EXPECT_THAT(run.err, HasSubstr("MPI_Barrier"));
}

TEST_F(LostRank, EndsARunOfOneRankThatStandsStill) {
  const Ended run =
      shell(TOY_PROGRAM " run " + config({{"kind", "stand_still"}, {"during", "stage"}}, 1));
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("trainmark: no progress for 1 s: rank 0 (host "));
  EXPECT_THAT(run.err, HasSubstr("has stood still in staging: input for"));
  expect_aborted(HasSubstr("no progress"));
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator ends the process instead of throwing
TEST_F(LostRank, EndsWhenOneIsOutOfMemory) {
  const Ended run =
      ends(2, {{"kind", "exhaust_memory"}, {"rank", 1}, {"during", "train"}, {"step", 15}});
  EXPECT_EQ(run.status, 4);
  const auto told = AllOf(HasSubstr("rank 1: out of memory: an allocation was refused"),
                          HasSubstr("address space is limited to 1024 MiB"));
  EXPECT_THAT(run.err, told);
  expect_aborted(told);
}
#endif

TEST_F(LostRank, LogsWhatAnotherRankFailedOf) {
  json object = json::parse(content(config({{"kind", "none"}})));
  object["model"] = {{"throw_at_step", 7}, {"throwing_rank", 1}};
  std::ofstream(folder_ / "toy.json") << object;
  const Ended run = run_on(2, (folder_ / "toy.json").string());
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("rank 1: toy.tar: sample 5 is damaged"));
  expect_aborted(HasSubstr("rank 1: toy.tar: sample 5 is damaged"));
}

TEST_F(LostRank, GoesOnThroughASuspensionOfTheWholeJob) {
  // As when a scheduler lends the node to another job.
  const Started job = start(mpirun(2) + TOY_PROGRAM " run " +
                            config({{"kind", "stop"}, {"rank", 1}, {"during", "evaluate"}}));
  ASSERT_TRUE(comes([this] { return is_stopped(process_of(1)); }));
  const pid_t first = process_of(0), second = process_of(1);
  ASSERT_EQ(::kill(first, SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::seconds(kLostTimeoutS + 2));
  ::kill(first, SIGCONT);
  // The rank is stopped at each of its evaluations.
  std::atomic<bool> ended = false;
  std::thread waker([&] {
    while (!ended && ::kill(second, SIGCONT) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  });
  const Ended run = wait(job);
  ended = true;
  waker.join();
  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(LostRank, LogsTheEndThatALauncherBringsBySigterm) {
  // MPICH's launcher passes the signal on, and does not kill: there the hang ends the job.
  const int hang_s = outside::kIsHydra ? kHangTimeoutS : kUsualHangTimeoutS;
  const Started job =
      start("exec " + mpirun(2) + TOY_PROGRAM " run " +
            config({{"kind", "stand_still"}, {"rank", 1}, {"during", "evaluate"}}, hang_s));
  ASSERT_TRUE(comes(
      [this] { return content(results("result_1.txt")).find("eval_start") != std::string::npos; }));
  ASSERT_EQ(::kill(job.process, SIGTERM), 0);
  const Ended run = wait(job);
  EXPECT_EQ(run.status, outside::kIsHydra ? 4 : 1);  // 1: the launcher's own
  EXPECT_TRUE(all_end());
  expect_aborted(HasSubstr("told to end by SIGTERM during "));
}

}  // namespace
}  // namespace runner
