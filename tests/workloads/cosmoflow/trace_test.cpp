// Tests of traces of shared samples: the bytes of margins, and their overlap with the computation
// of inner rows, also between hosts. Also a test of staging ahead of a run.
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "runner/generated_run.h"
#include "trace_checks.h"
#include "workloads/exit_codes.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using outside::Ended;
using outside::kTargetMissed;
using outside::kUsage;
using outside::mpirun;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kSize = 32, kBatch = 2, kFloat = 4, kRedshifts = 4;
constexpr std::int64_t kChannels[] = {16, 32};

class CosmoflowTrace : public outside::GeneratedRun {
 protected:
  CosmoflowTrace()
      : GeneratedRun("cosmoflow",
                     "--train-samples 8 --validation-samples 2 --size " + std::to_string(kSize)) {}

  json config() const override {
    json config = usual_config();
    config["epochs"] = 1;
    config["target"] = {{"quality", 1e-6}};
    config["staging"] = {{"mode", "stream"}};
    config["model"] = {{"size", kSize}, {"channels", kChannels}, {"dense", {16}}};
    config["training"] = {{"global_batch_size", kBatch}};
    config["schedule"] = {{"learning_rate", 0.01}};
    return config;
  }
  /// Traces a run whose samples are split into these numbers of parts.
  std::vector<telemetry::ReadRank> traced(const std::string& launcher, std::int64_t depth,
                                          std::int64_t height) const {
    const auto in_parts = [&](json& c) {
      c["training"]["sample_split"] = {{"depth", depth}, {"height", height}};
    };
    const Ended ended = run(in_parts, launcher, "--trace 2:4");
    EXPECT_EQ(ended.status, kTargetMissed) << ended.err;
    return telemetry::read_trace(result("1.trace.json"));
  }
  static json transfer(const telemetry::ReadRank& rank, const std::string& name) {
    for (const json& times : rank.entry.at("transfers")) {
      if (times.at("name") == name) return times;
    }
    return nullptr;
  }
};

/// For each convolution's input, a face between two halves: height x width x channels floats.
TEST_F(CosmoflowTrace, CountsTheBytesThatTheFormulaGives) {
  constexpr std::int64_t kSteps = 3;
  const std::int64_t first = kSize * kSize * kRedshifts;
  const std::int64_t second = kSize / 2 * kSize / 2 * kChannels[0];
  for (const telemetry::ReadRank& rank : traced(mpirun(2), 2, 1)) {
    EXPECT_EQ(transfer(rank, "margins").at("bytes"), kSteps * kBatch * kFloat * (first + second));
    // The gradient of the network's input is not needed.
    EXPECT_EQ(transfer(rank, "margin gradients").at("bytes"), kSteps * kBatch * kFloat * second);
  }
}

/// Quarters have two faces of half the size, and an edge for the rank diagonally across.
TEST_F(CosmoflowTrace, CountsTheEdgesBetweenQuarters) {
  constexpr std::int64_t kSteps = 3;
  std::int64_t points = 0;
  std::int64_t size = kSize;
  for (const std::int64_t channels : {kRedshifts, kChannels[0]}) {
    points += (2 * (size / 2 * size) + size) * channels;
    size /= 2;
  }
  for (const telemetry::ReadRank& rank : traced(mpirun(4), 2, 2)) {
    EXPECT_EQ(transfer(rank, "margins").at("bytes"), kSteps * kBatch * kFloat * points);
  }
}

TEST_F(CosmoflowTrace, ShowsMarginsBehindWorkBetweenHosts) {
  const std::string why = outside::why_no_hosts(HOSTS);
  if (!why.empty()) GTEST_SKIP() << why;
  const std::string launcher = std::string(HOSTS) + " 2 1gbit " + mpirun(2, outside::on_hosts(2));
  for (const telemetry::ReadRank& rank : traced(launcher, 2, 1)) {
    const json margins = transfer(rank, "margins");
    EXPECT_GT(margins.at("in_flight_s").get<double>(), 0.0);
    EXPECT_GT(margins.at("hidden_s").get<double>(), 0.0) << margins;
  }
}

TEST_F(CosmoflowTrace, FindsWhatWasStagedAhead) {
  json object = config();
  object["staging"] = {{"mode", "shard"}, {"directory", (folder_ / "near").string()}};
  const std::string stage = std::string(TRAINMARK) + " stage " + saved(object);
  const Ended planned = shell(stage + " --dry-run");
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("train.samples"));
  EXPECT_FALSE(fs::exists(folder_ / "near"));
  const Ended staged = shell(stage + " --json -");
  ASSERT_EQ(staged.status, 0) << staged.err;
  const json facts = json::parse(staged.out);
  EXPECT_EQ(facts.at("train").at("samples"), 8);
  EXPECT_EQ(facts.at("train").at("packs"), 8);  // each is larger than the smallest packs
  const Ended again = shell(stage + " --json -");
  EXPECT_EQ(json::parse(again.out).at("train").at("reused"), true) << again.out;
  const Ended ran = shell(std::string(TRAINMARK) + " run " + saved(object));
  ASSERT_EQ(ran.status, kTargetMissed) << ran.err;
  EXPECT_EQ(json::parse(shell(stage + " --json -").out).at("train").at("reused"), true)
      << "the run has not removed what was there before it";
}

TEST_F(CosmoflowTrace, RefusesToStageWhatIsStreamed) {
  json object = config();
  const std::string command = std::string(TRAINMARK) + " stage ";
  for (const char* plan : {"", " --dry-run"}) {
    const Ended refused = shell(command + saved(object) + plan);
    EXPECT_EQ(refused.status, kUsage);
    EXPECT_THAT(
        refused.err,
        HasSubstr(
            "/staging/mode: expected auto, shard, scatter or full, as stream copies nothing"));
  }
  object["staging"]["mode"] = "none";  // the former name
  const Ended refused = shell(command + saved(object));
  EXPECT_EQ(refused.status, kUsage);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("/staging/mode: none is called stream now"),
                    HasSubstr("/staging/mode: expected auto, shard, scatter or full")));
}

TEST_F(CosmoflowTrace, FindsWholeSetsThatWereStagedAhead) {
  json object = config();
  object["staging"] = {{"mode", "full"}, {"directory", (folder_ / "near").string()}};
  const std::string stage = std::string(TRAINMARK) + " stage ";
  const Ended planned = shell(stage + saved(object) + " --dry-run --json -");
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(json::parse(planned.out).at("mode"), "full");
  const Ended staged = shell(stage + saved(object) + " --json -");
  ASSERT_EQ(staged.status, 0) << staged.err;
  EXPECT_EQ(json::parse(staged.out).at("train").at("mode"), "full");
  object["staging"]["mode"] = "shard";  // the node needs all samples
  const Ended again = shell(stage + saved(object) + " --json -");
  EXPECT_EQ(json::parse(again.out).at("train").at("reused"), true) << again.out;
}

}  // namespace
