// Runs of the program on several hosts send and compute what the command scale counts.
#include "runner/small_run.h"

namespace {

using outside::content;
using outside::Ended;
using outside::json;

class ScaleOnHosts : public outside::SmallRun {
 protected:
  void SetUp() override {
    const std::string why = outside::why_no_hosts(HOSTS);
    if (!why.empty()) GTEST_SKIP() << why;
    SmallRun::SetUp();
  }
  /// 12 images: 2 images of an epoch are left, and ranks have different numbers of a batch.
  json config() const override {
    json config = SmallRun::config();
    config["epochs"] = 2;
    config["staging"] = {{"mode", "stream"}};
    config["dataset"]["train_samples"] = 12;
    config["dataset"]["validation_samples"] = 4;
    config["training"] = {
        {"global_batch_size", 5}, {"bn_group_samples", 1}, {"gradient_piece_kib", 16}};
    return config;
  }
  /// The telemetry of a run on as many hosts.
  json run_on(int hosts) const {
    const Ended run = shell("env OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 " HOSTS " " +
                            std::to_string(hosts) + " unlimited " +
                            outside::mpirun(hosts, outside::on_hosts(hosts)) + TRAINMARK " run " +
                            saved(config()));
    EXPECT_EQ(run.status, 6) << run.err;
    return json::parse(content(result(std::to_string(hosts - 1) + ".telemetry.json")));
  }
  /// Of a step on two hosts, as rank 0 has it: the share in which it waits for exchanges.
  double exchanged(const std::string& bench) const {
    const Ended ended =
        shell("env OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 " HOSTS " 2 1gbit " +
              outside::mpirun(2, outside::on_hosts(2)) + TRAINMARK " bench " + bench +
              " --batch 8 --steps 3 --warmup 1 --limit 0 --json -");
    EXPECT_EQ(ended.status, 0) << ended.err;
    const json seconds = json::parse(ended.out)["breakdown_s_per_step"];
    double step = 0.0;
    for (const auto& [subsystem, part] : seconds.items()) step += part.get<double>();
    return seconds["exchange"].get<double>() / step;
  }
};

std::int64_t sum_of(const json& telemetry, const char* counter) {
  std::int64_t sum = 0;
  for (const json& rank : telemetry["ranks"]) {
    sum += rank["counters"][counter].get<std::int64_t>();
  }
  return sum;
}

std::int64_t most_of(const json& telemetry, const char* counter) {
  std::int64_t most = 0;
  for (const json& rank : telemetry["ranks"]) {
    most = std::max(most, rank["counters"][counter].get<std::int64_t>());
  }
  return most;
}

TEST_F(ScaleOnHosts, CountsWhatARunCounts) {
  const Ended scale = shell(TRAINMARK " scale " + saved(config()) + " --ranks 2,3,4 --json -");
  ASSERT_EQ(scale.status, 0) << scale.err;
  const json rows = json::parse(scale.out)["rows"];
  for (const int hosts : {2, 3, 4}) {
    const json telemetry = run_on(hosts);
    const json& row = rows[static_cast<std::size_t>(hosts - 2)];
    ASSERT_EQ(telemetry["ranks"].size(), static_cast<std::size_t>(hosts));
    EXPECT_EQ(row["nodes"], hosts);
    EXPECT_EQ(row["steps"], 4);
    EXPECT_EQ(row["steps"], telemetry["ranks"][0]["counters"]["steps"]);
    EXPECT_EQ(row["flops"], sum_of(telemetry, "flops"));
    EXPECT_EQ(row["all_bytes"], sum_of(telemetry, "gradient_bytes_sent"));
    EXPECT_EQ(row["all_messages"], sum_of(telemetry, "gradient_messages_sent"));
    EXPECT_EQ(row["rank_bytes"], most_of(telemetry, "gradient_bytes_sent"));
    EXPECT_EQ(row["rank_messages"], most_of(telemetry, "gradient_messages_sent"));
    EXPECT_GT(row["all_bytes"], 0);
    EXPECT_LT(row["all_bytes"], sum_of(telemetry, "bytes_sent")) << "votes, losses, statistics";
  }
}

// Source: You et al., ICPP 2018: the ratio of FLOPs to parameters tells whose network scales.
TEST_F(ScaleOnHosts, AlexNetWaitsForItsGradientsWhereResNet50Computes) {
  EXPECT_GT(exchanged("alexnet"), 3.0 * exchanged("resnet50"));
}

}  // namespace
