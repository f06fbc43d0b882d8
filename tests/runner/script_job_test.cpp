// The shell part of job scripts for schedulers that are not installed. Each script is started as
// its scheduler would, with its variables and with stand-ins for its commands.
#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "runner/stand_in.h"
#include "runner/toy_run.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using testing::AllOf;
using testing::HasSubstr;

/// A job of the toy.
class JobShell : public outside::StandInTest {
 protected:
  /// Fifty steps.
  std::string config() const {
    json object = outside::toy_config(folder_ / "my results");
    object["model"] = {{"step_ms", step_ms_}};
    std::ofstream(folder_ / "toy.json") << object;
    return (folder_ / "toy.json").string();
  }
  /// Two ranks on this node.
  std::string hosts() const {
    std::ofstream(folder_ / "hosts") << "localhost\nlocalhost\n";
    return (folder_ / "hosts").string();
  }
  std::string pbs(const std::string& job = "12.server") const {
    return "PBS_JOBID=" + job + " PBS_O_WORKDIR=" + folder_.string() + " PBS_NODEFILE=" + hosts();
  }
  Ended job(const std::string& scheduler, const std::string& options,
            const std::string& environment) const {
    const std::string file = (folder_ / "job.sh").string();
    const Ended written =
        shell(TOY_PROGRAM " script " + scheduler + " " + config() +
              " --ranks-per-node 2 --shared-nodes --program " + TOY_PROGRAM + " --output " + file +
              " " + options + (scheduler == "flux" ? "" : " -- --oversubscribe"));
    EXPECT_EQ(written.status, 0) << written.err;
    return shell("env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " + environment +
                 " " + file);
  }
  json job_state(const std::string& job) const {
    return json::parse(content(folder_ / "my results/jobs" / job / "job.state"));
  }

  int step_ms_ = 0;
};

TEST_F(JobShell, APbsJobRunsToItsEnd) {
  const Ended ended = job("pbs", "--preflight plan", pbs());
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("status=success"));
  EXPECT_EQ(job_state("12.server")["state"], "ended");
  EXPECT_EQ(job_state("12.server")["exit_code"], 0);
  EXPECT_TRUE(all_end());
}

TEST_F(JobShell, APbsJobWarnsItselfBeforeItsLimitAndIsSubmittedAgainWhereItMayNotBeRerun) {
  const std::string programs = fake("qrerun", "no operator", 1) + fake("qsub", "13.server", 0);
  step_ms_ = 400;  // so that the warning after 12 s arrives during training on a busy machine, too
  const Ended first =
      job("pbs", "--preflight none --time 1 --signal-margin 48", pbs() + " " + programs);
  EXPECT_EQ(first.status, 0) << first.out << first.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("asked to end by: limit"), HasSubstr("exit code 7")));
  EXPECT_EQ(job_state("12.server")["state"], "queued");
  EXPECT_EQ(job_state("12.server")["exit_code"], 7);
  EXPECT_THAT(content(folder_ / "arguments"),
              HasSubstr("-v RESUME_JOB=12.server " + (folder_ / "job.sh").string()));

  step_ms_ = 0;
  const Ended second = job("pbs", "--preflight plan", "RESUME_JOB=12.server " + pbs("13.server"));
  EXPECT_EQ(second.status, 0) << second.out << second.err;
  EXPECT_THAT(second.out, HasSubstr("resumed_at_step="));
  EXPECT_EQ(job_state("12.server")["restarts"], 1);
  EXPECT_EQ(job_state("12.server")["job"], "13.server");
}

TEST_F(JobShell, AnLsfJobEndsWithTheExitCodeThatQueuesItAgain) {
  step_ms_ = 300;
  const fs::path log = folder_ / "my results/box/toy/result_1.txt";
  const std::string environment = "LSB_JOBID=5 LSB_DJOB_HOSTFILE=" + hosts();
  // -wa USR1: LSF sends the signal to the script, which this test finds among the processes.
  std::thread warner([&] {
    EXPECT_TRUE(comes([&] { return content(log).find("eval_accuracy") != std::string::npos; }));
    for (const pid_t process : processes()) {
      const std::string line = content("/proc/" + std::to_string(process) + "/cmdline");
      if (line.starts_with(std::string("/bin/bash\0", 10))) ::kill(process, SIGUSR1);
    }
  });
  const Ended ended = job("lsf", "--preflight none", environment);
  warner.join();
  EXPECT_EQ(ended.status, 75) << ended.out << ended.err;
  EXPECT_EQ(job_state("5")["state"], "queued");
  step_ms_ = 0;
  const Ended next = job("lsf", "--preflight plan", environment);
  EXPECT_EQ(next.status, 0) << next.out << next.err;
  EXPECT_THAT(next.out, HasSubstr("resumed_at_step="));
}

TEST_F(JobShell, AFluxJobStartsItsRanksWithFluxRun) {
  const std::string path = fake("flux", "", 0);
  // flux getattr prints the job's id; flux run has options up to the program.
  std::ofstream(folder_ / "bin/flux")
      << "#!/bin/bash\necho \"$@\" >>" << (folder_ / "arguments").string() << R"sh(
case $1 in
  getattr) echo f12 ;;
  run) while [[ $1 != */toy_program ]]; do shift; done; exec "$@" ;;
esac
)sh";
  const Ended ended = job("flux", "--preflight plan", path);
  EXPECT_EQ(ended.status, 0) << ended.out << ended.err;
  EXPECT_THAT(content(folder_ / "arguments"),
              HasSubstr("run --nodes=1 --ntasks=2 --cores-per-task=1 -o exit-on-error"));
  EXPECT_EQ(job_state("f12")["exit_code"], 0);
}

TEST_F(JobShell, AJobThatFailsAtOnceTwiceIsNotStartedAgainUnlessItSavedSomething) {
  const std::string start = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
                            pbs() + " " + fake("qrerun", "", 0) + (folder_ / "job.sh").string();
  ASSERT_EQ(job("pbs", "--preflight none", pbs()).status, 0);
  const auto program = [this](const std::string& lines) {
    fake("broken", "", 0);
    std::ofstream(folder_ / "bin/broken") << "#!/bin/sh\n" << lines;
    return shell("sed -i 's/^trainmark=.*/trainmark=broken/' " + (folder_ / "job.sh").string());
  };
  ASSERT_EQ(program("exit 4\n").status, 0);
  EXPECT_THAT(shell(start).out, HasSubstr("to be started again: "));
  EXPECT_EQ(job_state("12.server")["state"], "queued");
  const Ended second = shell(start);
  EXPECT_EQ(second.status, 4) << second.out;
  EXPECT_THAT(second.out, HasSubstr("failed at once, as the start before: another cannot cure it"));
  EXPECT_EQ(job_state("12.server")["state"], "ended");

  const std::string saves = (folder_ / "my results/jobs/12.server/checkpoints").string();
  ASSERT_EQ(program("mkdir -p '" + saves + "'; touch '" + saves + "'/$$; exit 4\n").status, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(shell(start).out, HasSubstr("to be started again: "));
    EXPECT_EQ(job_state("12.server")["state"], "queued");
  }
}

TEST_F(JobShell, AJobWhoseProgramIsNotThereSaysSo) {
  EXPECT_EQ(job("pbs", "--preflight plan", pbs()).status, 0);
  const std::string script = (folder_ / "job.sh").string();
  ASSERT_EQ(shell("sed -i 's/^trainmark=.*/trainmark=absent/' " + script).status, 0);
  const Ended absent = shell("env " + pbs() + " " + script);
  EXPECT_EQ(absent.status, 2);
  EXPECT_THAT(absent.out, HasSubstr("no program absent: see --program"));
}

}  // namespace
