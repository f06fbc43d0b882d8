// Jobs of the scripts that the program writes, on a real Slurm of four nodes.
// Hides the cluster and small datasets.
#include <gmock/gmock.h>

#include <memory>
#include <set>

#include "runner/small_run.h"
#include "slurm/cluster.h"

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

  /// Writes a script for `program` and submits it; the job's number.
  std::string submit(const std::string& config, const std::string& options,
                     const std::string& program = TRAINMARK, const std::string& name = "run") {
    const std::string script = (folder_ / (name + ".sbatch")).string();
    const Ended written = this->shell(program + " script slurm " + config + " --name " + name +
                                      " --results " + (folder_ / "results").string() +
                                      " --cpus-per-rank 1 --shared-nodes --program " + program +
                                      " --output " + script + " " + options);
    EXPECT_EQ(written.status, 0) << written.err;
    return cluster_->submit(script);
  }
  std::string output(const std::string& job, const std::string& name = "run") const {
    return content(folder_ / (name + "-" + job + ".out"));
  }
  json job_state(const std::string& job) const {
    return json::parse(content(folder_ / "results/jobs" / job / "job.state"));
  }
  /// What Slurm and the job itself say of its end is the same.
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
  std::unique_ptr<Cluster> cluster_;
};

class ResNetJob : public OnCluster<outside::SmallRun> {
 protected:
  json config() const override {
    json config = SmallRun::config();
    config.erase("staging");  // the job finds a folder
    return config;
  }
};

TEST_F(ResNetJob, ASetInAnArrayGoesIntoOneFolderWithASeedForEachMember) {
  const std::string job = submit(saved(config()), "--nodes 1 --runs 5 --at-once 4");
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

}  // namespace
