// Tests of the bench's report, for models that need gigabytes and a batch of two samples.
#include <gmock/gmock.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/thrown_message.h"
#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/dlrm/workload.h"

namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class DlrmBench : public testing::Test {
 protected:
  DlrmBench() {
    options_.batch = 2;
    options_.steps = 2;
    options_.warmup_steps = 1;
    options_.limit_repetitions = 0;
  }
  /// Runs the bench with `own` as the command line of DLRM's own options.
  json run(const std::string& own = "") {
    CLI::App app;
    const runner::Bench bench = dlrm::declare_bench(app);
    app.parse(own, false);
    return bench(options_, {world_, topology_, telemetry_, 1});
  }
  /// Expects a loss of untrained weights.
  static void expect_guess(const json& result) {
    EXPECT_GT(result["mean_loss"], 0.3);
    EXPECT_LT(result["mean_loss"], 1.5);
  }

  /// Expects a definition of every figure, and no other definitions.
  static void expect_definitions(const json& result) {
    const std::set<std::string> settings = {
        "workload",     "config", "batch_per_rank",   "precision",  "steps",
        "warmup_steps", "ranks",  "threads_per_rank", "definitions"};
    for (const auto& [name, value] : result.items()) {
      EXPECT_EQ(result["definitions"].contains(name), settings.count(name) == 0) << name;
    }
    for (const auto& [name, definition] : result["definitions"].items()) {
      EXPECT_TRUE(result.contains(name)) << name;
    }
  }

  runner::BenchOptions options_;
  runner::Communicator world_ = runner::Communicator::world();
  runner::Topology topology_ = runner::discover_topology(world_);
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
};

TEST_F(DlrmBench, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(base::thrown_message<base::ConfigError>([this] { run("--config huge"); }),
            "bench dlrm: --config: expected one of small, large, mlperf-mini, got \"huge\"");
  const auto refusal = [this](const std::string& own) {
    return base::thrown_message<CLI::ParseError>([&] { run(own); });
  };
  EXPECT_THAT(refusal("--table-update unsorted"), HasSubstr("unsorted not in {reference,"));
  EXPECT_THAT(refusal("--table-storage f16"), HasSubstr("f16 not in {f32,split_bf16}"));
  EXPECT_THAT(refusal("--max-rows 0"), HasSubstr("--max-rows"));
  EXPECT_THAT(refusal("--alltoall ring"), HasSubstr("ring not in {scatter_list,"));
}

TEST_F(DlrmBench, TrainsTheSmallModelOfThePaper) {
  options_.limit_repetitions = 1;
  const json result = run("--config small");
  EXPECT_EQ(result["batch_per_rank"], 2);
  EXPECT_EQ(result["table_storage"], "f32");
  // Bottom 512-512-64. The top gets 64 features and 36 dot products of 8 embeddings and features.
  const std::int64_t layers = 513 * 512 + 513 * 64 + 101 * 1024 + 2 * 1025 * 1024 + 1025;
  EXPECT_EQ(result["parameters"], 8 * 1'000'000 * 64LL + layers);
  EXPECT_EQ(result["memory_bytes"]["embedding tables"], 8 * 1'000'000 * 64LL * 4);
  EXPECT_EQ(result["step_s"]["times"].size(), 2U);
  EXPECT_GT(result["start_s"], 0.0);
  // 50 lookups per table and sample: ids read twice; rows read, and read and written by updates.
  EXPECT_EQ(result["table_bytes"], 2 * 8 * 50 * (2 * 4 + 3 * 256) + 2 * 2 * 8 * 64 * 4);
  EXPECT_GT(result["triad_gb_per_s"], 0.0);
  EXPECT_DOUBLE_EQ(
      result["fraction_of_limit"].get<double>(),
      result["samples_per_s"].get<double>() / result["limit_samples_per_s"].get<double>());
  EXPECT_EQ(result["table_update"], "race_free");
  EXPECT_THAT(result["definitions"]["table_update"].get<std::string>(),
              AllOf(HasSubstr("race_free and sorted: a row belongs to one thread"),
                    HasSubstr("with several threads in an order that varies")));
  EXPECT_THAT(result["definitions"]["limit_samples_per_s"].get<std::string>(),
              HasSubstr("table_bytes at the bandwidth of a triad"));
  expect_definitions(result);
  expect_guess(result);
}

TEST_F(DlrmBench, TrainsTheLargeModelOfThePaperWithSmallerTables) {
  const json result = run("--config large --max-rows 50");
  EXPECT_EQ(result["rows"], 64 * 50);
  EXPECT_EQ(result["memory_bytes"]["embedding tables"], 64 * 50 * 256 * 4);
  // Bottom 2048-(2048 x 7)-256. The top gets 256 features and 65 * 64 / 2 dot products.
  const std::int64_t layers =
      7 * 2049 * 2048LL + 2049 * 256 + 2337 * 4096 + 14 * 4097 * 4096LL + 4097;
  EXPECT_EQ(result["parameters"], 64 * 50 * 256 + layers);
  EXPECT_NEAR(static_cast<double>(layers) * 4 / (1 << 20), 1046.5, 0.5) << "MiB, as published";
  expect_definitions(result);
  EXPECT_GT(result["mean_loss"], 0.0) << "so large a model learns two samples at once";
  EXPECT_LT(result["mean_loss"], 1.5);
}

TEST_F(DlrmBench, RefusesTablesThatTheNodeCannotHold) {
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  if (memory > 64 * 6'000'000LL * 256 * 4) GTEST_SKIP() << "needs a node with less than 393 GB";
  EXPECT_THAT(base::thrown_message<base::ConfigError>([this] { run("--config large"); }),
              AllOf(HasSubstr("fit on none of 1 ranks of"),
                    HasSubstr("all tables together take 393216000000")));
}

TEST_F(DlrmBench, TrainsTheBenchmarksModelWithSmallerTables) {
  const json result = run();
  EXPECT_EQ(result["config"], "mlperf-mini");
  // Six tables are cut to a million rows.
  const std::int64_t rows = 6 * 1'000'000LL + 403'346 + 585'935 + 39'043 + 17'289 + 7'420 + 20'263 +
                            3 + 7'120 + 1'543 + 63 + 10 + 2'208 + 11'938 + 155 + 4 + 976 + 14 +
                            12'972 + 108 + 36;
  EXPECT_EQ(result["parameters"], rows * 128 + 171'392 + 2'197'505);
  EXPECT_EQ(result["memory_bytes"]["embedding tables"], rows * 128 * 4);
  // Forward, and twice as much backward except for the first layer's data gradient.
  EXPECT_EQ(result["flops_per_sample"], 2 * (3 * 2'410'112 - 13 * 512));
  EXPECT_FALSE(result.contains("limit_samples_per_s"));
  expect_definitions(result);
  expect_guess(result);
}

TEST_F(DlrmBench, KeepsWeightsInHalvesForBf16) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  options_.precision = "bf16";
  const json result = run("--config small");
  EXPECT_EQ(result["table_storage"], "split_bf16");
  EXPECT_EQ(result["table_update"], "race_free");
  EXPECT_EQ(result["memory_bytes"]["embedding tables"], 8 * 1'000'000 * 64LL * 4);
  expect_guess(result);
}

}  // namespace
