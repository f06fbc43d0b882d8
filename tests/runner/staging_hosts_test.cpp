// Staging on four hosts with disks of their own, from a server behind a slow link: a real network
// file system.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runner/generated_run.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::content;
using outside::Ended;
using testing::HasSubstr;

constexpr int kHosts = 4;
constexpr std::int64_t kSamples = 400;  ///< of the training set

class StagingOnHosts : public outside::GeneratedRun {
 protected:
  StagingOnHosts()
      : GeneratedRun("resnet50",
                     "--classes 2 --train-per-class 200 --validation-per-class 2 "
                     "--image-size 128") {}

  void SetUp() override {
    std::string why = outside::why_no_hosts(HOSTS);
    if (why.empty() && std::system(HOSTS " --probe-server >/dev/null 2>&1") != 0) {
      why = "hosts with a server (sshfs, socat, sftp-server) cannot be made here";
    }
    if (!why.empty()) GTEST_SKIP() << why;
    GeneratedRun::SetUp();
    for (const auto& entry : fs::recursive_directory_iterator(data() + "/train")) {
      if (entry.is_regular_file()) bytes_ += static_cast<std::int64_t>(entry.file_size());
    }
  }

  json config() const override {
    json config = usual_config();
    config["dataset"] = {{"train", data() + "/train"}, {"validation", data() + "/validation"}};
    config["model"] = {{"depth", 26}, {"width", 8}, {"image_size", 32}, {"classes", 2}};
    config["training"] = {{"global_batch_size", 8}, {"bn_group_samples", 2}};
    config["optimizer"] = {{"name", "sgd"}};
    config["schedule"] = {{"name", "constant"}, {"learning_rate", 0.001}};
    config["dataset"]["preprocess"] = "cifar";
    return config;
  }
  std::string data() const { return (folder_ / "data").string(); }

  /// Runs `command` on host1 among hosts whose links have this rate. They read data() from the
  /// server, and each has another folder in the place of the staging folder.
  Ended on_hosts(const std::string& rate, const std::string& command) const {
    return shell("env SERVED=" + data() + " PRIVATE=" + near() +
                 " OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 " HOSTS " " +
                 std::to_string(kHosts) + " " + rate + " " + command);
  }
  std::string stage(const std::string& mode) const {
    return outside::mpirun(kHosts, outside::on_hosts(kHosts)) + TRAINMARK " stage " +
           saved(config()) + " --no-verify --set staging.mode=" + mode;
  }
  /// The staging folder.
  std::string near() const { return (folder_ / "near").string(); }
  std::string near(int host) const { return near() + ".host" + std::to_string(host); }
  void remove_copies() const {
    for (int host = 1; host <= kHosts; ++host) fs::remove_all(near(host));
  }

  std::int64_t bytes_ = 0;  ///< of the training set
};

TEST_F(StagingOnHosts, ReadsTheServerOnceWhenItScattersAndOnceANodeOtherwise) {
  for (const std::string mode : {"scatter", "full"}) {
    SCOPED_TRACE(mode);
    const Ended done = on_hosts("100mbit", stage(mode) + " --json -");
    ASSERT_EQ(done.status, 0) << done.err;
    const json facts = json::parse(done.out);
    const json& train = facts.at("train");  // all of which each node needs
    EXPECT_EQ(train.at("samples"), kHosts * kSamples);
    EXPECT_EQ(train.at("bytes"), kHosts * bytes_);
    EXPECT_EQ(train.at("source_reads"), mode == "scatter" ? kSamples : kHosts * kSamples);
    EXPECT_EQ(train.at("source_bytes"), mode == "scatter" ? bytes_ : kHosts * bytes_);
    EXPECT_EQ(train.at("network_bytes").get<std::int64_t>() > 0, mode == "scatter");
    EXPECT_TRUE(fs::is_empty(near()));  // each host has its own
    for (int host = 1; host <= kHosts; ++host) {
      EXPECT_EQ(std::distance(fs::directory_iterator(near(host)), {}), 2) << host;
    }
    remove_copies();
  }
}

TEST_F(StagingOnHosts, TrainsTheSameWhileItScatters) {
  for (const bool overlap : {true, false}) {
    SCOPED_TRACE(overlap);
    json object = config();
    object["epochs"] = 1;
    object["training"]["global_batch_size"] = 40;  // few steps
    object["staging"]["mode"] = "scatter";
    object["staging"]["overlap"] = overlap;
    const Ended done = on_hosts("100mbit", outside::mpirun(kHosts, outside::on_hosts(kHosts)) +
                                               TRAINMARK " run " + saved(object));
    ASSERT_EQ(done.status, outside::kTargetMissed) << done.err;
    int stops = 0;
    for (const json& record : records(overlap ? 1 : 2)) {
      if (record["key"] != "staging_stop") continue;
      ++stops;
      const json& train = record["metadata"]["staging"]["train"];
      EXPECT_EQ(train["overlap"], overlap);
      EXPECT_GT(train["network_bytes"], 0);
      EXPECT_LE(train["source_reads"], kSamples);
      EXPECT_EQ(train["bytes"].get<std::int64_t>() + train["left_bytes"].get<std::int64_t>(),
                kHosts * bytes_);
    }
    EXPECT_EQ(stops, 1);
    for (int host = 1; host <= kHosts; ++host) EXPECT_TRUE(fs::is_empty(near(host))) << host;
  }
  EXPECT_NE(content(result("1.weights.h5")), "");
  EXPECT_EQ(content(result("1.weights.h5")), content(result("2.weights.h5")));
}

TEST_F(StagingOnHosts, EndsWithTheNameOfANodeThatIsCutOff) {
  // 5 MB a second: seconds are left when the first packs are there.
  std::ofstream(folder_ / "cut.sh")
      << "#!/bin/bash\n"
      << stage("scatter") << " & job=$!\n"
      << "until compgen -G '" << near() << "/*/pack-*' >/dev/null; do sleep 0.02; done\n"
      << "IFS=+ read -ra processes <<<\"$HOST_PROCESSES\"\n"
      << "nsenter -t ${processes[1]} --net ip link set net0 down\n"  // host3
      << "begin=$SECONDS\nwait $job\nstatus=$?\necho after $((SECONDS - begin)) s\nexit $status\n";
  const Ended done = on_hosts("5mbit", "bash " + (folder_ / "cut.sh").string());
  EXPECT_NE(done.status, 0);
  EXPECT_THAT(done.err, HasSubstr("host3"));
  int seconds = -1;
  ASSERT_EQ(std::sscanf(done.out.substr(done.out.find("after ")).c_str(), "after %d s", &seconds),
            1)
      << done.out;
  EXPECT_LE(seconds, 15);
}

}  // namespace
