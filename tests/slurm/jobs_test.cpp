// Jobs with the scripts that the program writes, on a real Slurm of four nodes.
#include <gmock/gmock.h>

#include <memory>
#include <set>

#include "runner/small_run.h"
#include "runner/toy_run.h"
#include "slurm/cluster.h"
#include "workloads/dlrm/click_run.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::Cluster;
using outside::content;
using outside::Ended;
using testing::HasSubstr;

/// `Run` on a cluster of four nodes.
template <class Run>
class OnCluster : public Run {
 protected:
  using Run::folder_;
  using Run::Run;

  void SetUp() override {
    const std::string why = Cluster::why_not(folder_);
    if (!why.empty()) GTEST_SKIP() << why;
    Run::SetUp();
    cluster_ = std::make_unique<Cluster>(4, folder_);
  }
  void TearDown() override {
    if (!this->HasFailure()) return;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == ".out") std::cerr << content(entry.path());
    }
  }

  /// Writes a script for `program` and submits it; returns the job's number.
  std::string submit(const std::string& config, const std::string& options,
                     const std::string& program = TRAINMARK, const std::string& name = "run") {
    const std::string script = (folder_ / (name + ".sbatch")).string();
    const bool has_cpus = options.find("--cpus-per-rank") != std::string::npos;
    const Ended written =
        this->shell(program + " script slurm " + config + " --name " + name + " --results " +
                    (folder_ / "results").string() + " --shared-nodes --program " + program +
                    " --output " + script + " " + options + (has_cpus ? "" : " --cpus-per-rank 1"));
    EXPECT_EQ(written.status, 0) << written.err;
    return cluster_->submit(script);
  }
  std::string output(const std::string& job, const std::string& name = "run") const {
    return content(folder_ / (name + "-" + job + ".out"));
  }
  json job_state(const std::string& job) const {
    return json::parse(content(folder_ / "results/jobs" / job / "job.state"));
  }
  /// Slurm and the job itself must agree on the job's end.
  void expect_end(const std::string& job, const std::string& state, int exit_code) const {
    EXPECT_EQ(cluster_->end_of(job), state);
    EXPECT_EQ(cluster_->field(job, "ExitCode"), std::to_string(exit_code) + ":0");
    EXPECT_EQ(cluster_->accounted(job), state + "|" + std::to_string(exit_code) + ":0");
    EXPECT_EQ(job_state(job)["exit_code"], exit_code);
    EXPECT_EQ(job_state(job)["state"], "ended");
    EXPECT_EQ(job_state(job)["restarts"].dump(), cluster_->field(job, "Restarts"));
  }
  void expect_no_scratch() const {
    for (int node = 1; node <= 4; ++node) {
      EXPECT_THAT(cluster_->on_node(node, "ls /tmp").out, testing::Not(HasSubstr("trainmark-")));
    }
  }
  /// Sends a signal to a job's script once `file` contains `text`.
  void signal_when(const std::string& job, const std::string& signal, const fs::path& file,
                   const std::string& text) const {
    EXPECT_TRUE(comes([&] { return content(file).find(text) != std::string::npos; }));
    EXPECT_EQ(cluster_->run("scancel --batch --signal=" + signal + " " + job).status, 0);
  }

  std::unique_ptr<Cluster> cluster_;
};

class ResNetJob : public OnCluster<outside::SmallRun> {
 protected:
  json config() const override {
    json config = SmallRun::config();
    config.erase("staging");                // the job determines a folder
    config["target"] = {{"quality", 1.5}};  // never met, whatever the seed
    return config;
  }
  /// Enough steps for signals to arrive in the middle.
  json long_config(int epochs) const {
    json config = this->config();
    config["epochs"] =
        epochs;  // many seconds, also on a fast machine: signals must find it at work
    return config;
  }
};

TEST_F(ResNetJob, RunsOnFourNodesAndCleansUpAfterItself) {
  const std::string job = submit(saved(config()), "--nodes 4");
  expect_end(job, "FAILED", 6);  // a target that is never met
  EXPECT_THAT(logged("number_of_nodes"), testing::ElementsAre(4));
  EXPECT_THAT(output(job), HasSubstr("status=target_missed"));
  EXPECT_EQ(job_state(job)["scheduler"], "slurm");
  const json plan = json::parse(content(folder_ / "results/jobs" / job / "plan.json"));
  EXPECT_EQ(plan["ranks"]["nodes"], 4);
  const json state = job_state(job);
  EXPECT_EQ(state["limit_s"].get<int>() - state["started_s"].get<int>(), 3600);
  expect_no_scratch();
}

TEST_F(ResNetJob, SucceedsAlsoWithAMissedTargetWhereThatIsAsked) {
  const std::string job = submit(saved(config()), "--nodes 2 --missed-is-success");
  expect_end(job, "COMPLETED", 0);
}

TEST_F(ResNetJob, EndsBeforeTheRunWhereTheConfigurationCannotBeRun) {
  json broken = config();
  const std::string file = saved(broken);
  const std::string job = submit(file, "--nodes 2");
  // The script was written for the original configuration; the job finds a changed one.
  expect_end(job, "FAILED", 6);
  broken["training"]["bn_group_samples"] = 3;
  saved(broken);
  const std::string second = cluster_->submit(folder_ / "run.sbatch");
  expect_end(second, "FAILED", 2);
  EXPECT_THAT(output(second), HasSubstr("bn_group_samples"));
  EXPECT_FALSE(fs::exists(result("2.txt")));
}

TEST_F(ResNetJob, IsQueuedAgainBeforeItsLimitAndEndsWithTheBitsOfOneThatWasNot) {
  // On the same number of nodes: ranks that share memory sum in another order.
  const std::string whole =
      submit(saved(long_config(120)), "--nodes 4 --set results.system=whole", TRAINMARK, "whole");
  expect_end(whole, "FAILED", 6);
  const std::string job = submit(saved(long_config(120)), "--nodes 4");
  signal_when(job, "USR1", result("1.txt"), "eval_accuracy");
  expect_end(job, "FAILED", 6);
  EXPECT_EQ(job_state(job)["restarts"], 1);
  EXPECT_THAT(content(result("1.txt")), HasSubstr("\"run_stop\""));
  const fs::path of_whole = folder_ / "results/whole/resnet50/result_1.weights.h5";
  ASSERT_FALSE(content(of_whole).empty());
  EXPECT_EQ(content(result("2.weights.h5")), content(of_whole));
  expect_no_scratch();
}

TEST_F(ResNetJob, EndsWhenAskedToAndAnotherJobGoesOn) {
  const std::string job = submit(saved(long_config(600)), "--nodes 2");
  signal_when(job, "USR2", result("1.txt"), "eval_accuracy");
  expect_end(job, "FAILED", 7);
  EXPECT_EQ(job_state(job)["restarts"], 0);
  expect_no_scratch();
  const std::string next =
      cluster_->submit(folder_ / "run.sbatch", "--export=ALL,RESUME_JOB=" + job);
  EXPECT_EQ(cluster_->end_of(next), "FAILED");
  EXPECT_EQ(cluster_->field(next, "ExitCode"), "6:0");
  EXPECT_THAT(output(next), HasSubstr("resumed_at_step="));
}

TEST_F(ResNetJob, ASetInAnArrayGoesIntoOneFolderWithASeedForEachMember) {
  // Each on a whole node: of two mpirun of Open MPI 4.1 that start at once on one, the second may
  // fail, as both make the same folder in /tmp.
  const std::string job =
      submit(saved(config()), "--nodes 1 --runs 5 --at-once 4 --cpus-per-rank 2");
  std::set<std::string> seeds;
  for (int member = 1; member <= 5; ++member) {
    const std::string task = job + "_" + std::to_string(member);
    EXPECT_EQ(cluster_->end_of(task), "FAILED");
    EXPECT_EQ(cluster_->field(task, "ExitCode"), "6:0");
    EXPECT_EQ(job_state(task)["exit_code"], 6);
    seeds.insert(
        json::parse(content(result(std::to_string(member) + ".config.json")))["seed"].dump());
  }
  EXPECT_EQ(seeds.size(), 5U);
  EXPECT_FALSE(fs::exists(result("6.txt")));
  const json summary = json::parse(content(result("1.txt").parent_path() / "set_summary.json"));
  EXPECT_EQ(summary["members"].size(), 5U);
  expect_no_scratch();
}

TEST_F(ResNetJob, InstancesStartTogetherEachOnNodesOfItsOwn) {
  const std::string job = submit(saved(config()), "--nodes 2 --runs 2 --together");
  expect_end(job, "FAILED", 6);
  for (const int number : {1, 2}) {
    EXPECT_THAT(logged("number_of_nodes", number), testing::ElementsAre(2));
  }
  const json summary = json::parse(content(result("1.txt").parent_path() / "set_summary.json"));
  EXPECT_EQ(summary["members"].size(), 2U);
  expect_no_scratch();
}

using DlrmJob = OnCluster<outside::ClickRun>;

TEST_F(DlrmJob, RunsOnFourNodes) {
  const std::string job = submit(saved(config()), "--nodes 4");
  expect_end(job, "FAILED", 6);
  EXPECT_THAT(logged("number_of_nodes"), testing::ElementsAre(4));
}

class ToyJob : public OnCluster<outside::ProgramTest> {
 protected:
  /// Fifty slow steps, up to the target.
  std::string config(int step_ms, const std::string& system) const {
    json object = outside::toy_config(folder_ / "results", system);
    object["model"] = {{"step_ms", step_ms}};
    const fs::path file = folder_ / (system + ".json");
    std::ofstream(file) << object;
    return file.string();
  }
  json weights(const std::string& system, const std::string& number) const {
    return json::parse(
        content(folder_ / "results" / system / "toy" / ("result_" + number + ".weights.h5")));
  }
};

TEST_F(ToyJob, OutlivesItsTimeLimitAndEndsWithTheSameBits) {
  ASSERT_EQ(shell(TOY_PROGRAM " run " + config(0, "whole")).status, 0);
  const std::string job = submit(
      config(900, "box"), "--nodes 2 --time 1 --signal-margin 40 --preflight plan", TOY_PROGRAM);
  expect_end(job, "COMPLETED", 0);
  const int restarts = job_state(job)["restarts"];
  EXPECT_GE(restarts, 1);
  EXPECT_THAT(output(job), HasSubstr("asked to end by: limit"));
  EXPECT_EQ(weights("box", std::to_string(restarts + 1)), weights("whole", "1"));
}

}  // namespace
