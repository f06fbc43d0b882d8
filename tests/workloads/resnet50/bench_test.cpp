// Tests of the output of `bench resnet50` on one rank and on two.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/base/temporary_directory.h"
#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/method_file.h"
#include "workloads/resnet50/workload.h"

namespace {

using nlohmann::json;

class Bench : public testing::Test {
 protected:
  Bench() {
    options_.batch = 4;
    options_.steps = 2;
    options_.warmup_steps = 1;
    options_.limit_repetitions = 3;
  }
  /// Runs the bench with ResNet-50's options `own`.
  json run(const std::string& own = "--image-size 32 --classes 10") {
    CLI::App app;
    const runner::Bench bench = resnet50::declare_bench(app);
    app.parse(own, false);
    return bench(options_, {world_, topology_, telemetry_, 1});
  }

  /// Every figure has a definition, and every definition a figure; layers are defined by column.
  static void expect_definitions(const json& result) {
    const std::set<std::string> settings = {
        "workload", "batch_per_rank", "precision",    "recompute", "image_size",
        "classes",  "steps",          "warmup_steps", "ranks",     "threads_per_rank",
        "layers",   "bn_group_size",  "definitions"};
    for (const auto& [name, value] : result.items()) {
      EXPECT_EQ(result["definitions"].contains(name), settings.count(name) == 0) << name;
    }
    for (const auto& [name, definition] : result["definitions"].items()) {
      EXPECT_TRUE(result.contains(name.substr(0, name.find('.')))) << name;
    }
  }

  runner::BenchOptions options_;
  runner::Communicator world_ = runner::Communicator::world();
  runner::Topology topology_ = runner::discover_topology(world_);
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_{clock_};
};

TEST_F(Bench, TellsTheLimitAndItsFraction) {
  const json result = run();
  EXPECT_GT(result["limit_samples_per_s"], 0.0);
  EXPECT_EQ(result["limit_repetitions"], 3);
  EXPECT_EQ(result["step_s"]["times"].size(), 2u);
  EXPECT_DOUBLE_EQ(
      result["fraction_of_limit"].get<double>(),
      result["samples_per_s"].get<double>() / result["limit_samples_per_s"].get<double>());
  EXPECT_FALSE(result.contains("layers"));
  expect_definitions(result);
}

TEST_F(Bench, TrainsAnyNumberOfImagesOfAnySize) {
  struct Size {
    std::int64_t batch, image, classes;
  };
  std::vector<std::string> precisions = {"f32"};
  if (base::usable_instruction_set() >= base::InstructionSet::kAvx512Bf16) {
    precisions.emplace_back("bf16");
  }
  options_.limit_repetitions = 0;
  options_.steps = 1;
  options_.warmup_steps = 0;
  std::vector<Size> sizes = {{2, 33, 3}, {5, 75, 10}};
  if (world_.size() == 1) {  // all ranks have the same plan, so one rank is enough
    sizes.insert(sizes.end(), {{1, 32, 2}, {1, 320, 1000}, {96, 32, 10}, {17, 64, 1000}});
  }
  for (const auto& [batch, image, classes] : sizes) {
    for (const std::string& precision : precisions) {
      options_.batch = batch;
      options_.precision = precision;
      const json result =
          run("--image-size " + std::to_string(image) + " --classes " + std::to_string(classes));
      // Untrained weights guess, some of them confidently.
      const double guess = std::log(static_cast<double>(classes));
      const std::string what =
          std::to_string(batch) + " of " + std::to_string(image) + ", " + precision;
      EXPECT_GT(result["mean_loss"], 0.4 * guess) << what;
      EXPECT_LT(result["mean_loss"], guess + 1.5) << what;
      EXPECT_GT(result["samples_per_s"], 0.0) << what;
      EXPECT_GT(result["start_s"], 0.0) << what;
    }
  }
}

TEST_F(Bench, MeasuresNoLimitWhereNobodyAsks) {
  options_.limit_repetitions = 0;
  options_.layers = true;
  const json result = run();
  EXPECT_FALSE(result.contains("limit_samples_per_s"));
  EXPECT_FALSE(result.contains("fraction_of_limit"));
  expect_definitions(result);
  EXPECT_EQ(result["layers"][0]["name"], "conv1");
  EXPECT_EQ(result["layers"][0]["bound"], nullptr) << "not measured alone";
  EXPECT_EQ(result["layers"][1]["bound"], "memory");
}

TEST_F(Bench, ListsLayersWhoseTimesMakeTheStep) {
  options_.layers = true;
  const json result = run();
  ASSERT_EQ(result["layers"].size(), 53u + 53u + 3u) << "convolutions, norms, pools and fc";
  const double copies = result["copy_gb_per_s"];
  EXPECT_GT(copies, 0.1);
  double layers_s = 0.0;
  for (const json& layer : result["layers"]) {
    const std::string name = layer["name"];
    const bool convolves = name.find("conv") != std::string::npos || name.ends_with("downsample.0");
    EXPECT_EQ(layer["limit_ms"].is_number(), convolves) << name;
    EXPECT_EQ(layer["gflops_per_s"].is_number(), convolves) << name;
    EXPECT_GT(layer["megabytes"], 0.0) << name;
    EXPECT_GE(layer["moved_megabytes"], 2.0 * layer["megabytes"].get<double>()) << name;
    EXPECT_TRUE(layer["bound"] == "compute" || layer["bound"] == "memory") << name;
    const double ms = layer["forward_ms"].get<double>() + layer["backward_ms"].get<double>();
    EXPECT_GT(layer["bound_ms"], 0.0) << name;
    const double moving_ms = layer["moved_megabytes"].get<double>() / copies;  // MB / (GB/s)
    EXPECT_GE(layer["bound_ms"].get<double>(), moving_ms * (1.0 - 1e-9)) << name;
    EXPECT_EQ(layer["bound"] == "compute",
              layer["bound_ms"].get<double>() > moving_ms * (1.0 + 1e-9))
        << name;
    EXPECT_NEAR(layer["fraction_of_bound"], layer["bound_ms"].get<double>() / ms, 1e-9) << name;
    layers_s += ms / 1e3;
  }
  const json& breakdown = result["breakdown_s_per_step"];
  const double passes_s = breakdown["forward"].get<double>() + breakdown["backward"].get<double>();
  EXPECT_LE(layers_s, passes_s * 1.01);
  EXPECT_GE(layers_s, passes_s * 0.5) << "layers are what a pass is made of";
}

TEST_F(Bench, TimesTheMethodsThatShapesPermit) {
  const base::TemporaryDirectory folder;
  const std::string file = (folder.path() / "methods.json").string();
  const json result = run("--image-size 32 --classes 10 --methods " + file);
  expect_definitions(result);
  std::set<std::string> used;
  for (const json& row : result["methods"]) {
    EXPECT_GT(row["pass_ms"], 0.0);
    if (row["used"] == "*") {
      EXPECT_EQ(row["over_used"], 1.0);
      used.insert(row["name"].get<std::string>() + " " + row["product"].get<std::string>());
    }
  }
  EXPECT_EQ(used.count("layer1.0.conv2 forward"), 1u) << result["methods"];
  EXPECT_EQ(used.count("layer1.0.conv2 weights_gradient"), 1u);
  if (world_.rank() != 0) return;
  EXPECT_EQ(json(parallel::read_methods(file)), result["faster_methods"]);
}

}  // namespace
