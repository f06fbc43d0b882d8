// The configurations that come with the program: each is taken, and those of the benchmarks have
// the hyperparameters of the reference convergence points.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "runner/base/object_reader.h"
#include "runner/run_config.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/registry.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// As `trainmark config` prints it; a ConfigError fails the test.
json resolved(const runner::WorkloadEntry& entry, const std::string& path) {
  const base::ObjectReader reader(base::load_config(path, {}), path);
  EXPECT_EQ(runner::workload_name(reader), entry.name) << path;
  runner::parse_run_config(reader, path, entry.evaluations_per_epoch);
  entry.check(reader);
  reader.reject_unknown();
  return reader.resolved();
}

std::set<std::string> files_of(const std::string& workload) {
  std::set<std::string> files;
  for (const auto& file : fs::directory_iterator("configs/" + workload)) files.insert(file.path());
  return files;
}

/// By global batch size: values by their place.
using Points = std::map<std::int64_t, std::map<std::string, double>>;

void expect_points(const char* workload, const Points& points) {
  std::set<std::int64_t> found;
  for (const runner::WorkloadEntry& entry : workloads::registry()) {
    if (entry.name != std::string(workload)) continue;
    for (const std::string& path : files_of(workload)) {
      const json config = resolved(entry, path);
      if (config["submission"]["division"] != "closed") continue;
      const std::int64_t batch = config["training"]["global_batch_size"];
      ASSERT_TRUE(points.contains(batch)) << path;
      EXPECT_TRUE(found.insert(batch).second) << path;
      for (const auto& [pointer, value] : points.at(batch)) {
        EXPECT_EQ(config.at(json::json_pointer(pointer)).get<double>(), value) << path << pointer;
      }
    }
  }
  EXPECT_EQ(found.size(), points.size());
}

TEST(Configurations, AreTakenByTheirWorkloads) {
  for (const runner::WorkloadEntry& entry : workloads::registry()) {
    const auto files = files_of(entry.name);
    EXPECT_GE(files.size(), 2U) << entry.name;
    for (const std::string& path : files) EXPECT_NO_THROW(resolved(entry, path)) << path;
  }
}

TEST(Configurations, StageByThemselves) {
  for (const runner::WorkloadEntry& entry : workloads::registry()) {
    for (const std::string& path : files_of(entry.name)) {
      EXPECT_EQ(resolved(entry, path)["staging"]["mode"], "auto") << path;
    }
  }
}

// Source: MLCommons' reference convergence points of dlrm, rounds 1.0 to 2.1.
TEST(Configurations, OfDlrmHaveItsReferencePoints) {
  const auto point = [](double rate, double warmup, double start, double decay) {
    return std::map<std::string, double>{{"/schedule/learning_rate", rate},
                                         {"/schedule/warmup_steps", warmup},
                                         {"/schedule/decay_start_step", start},
                                         {"/schedule/decay_steps", decay},
                                         {"/schedule/power", 2},
                                         {"/optimizer/momentum", 0},
                                         {"/evaluation/per_epoch", 20},
                                         {"/epochs", 1}};
  };
  expect_points("dlrm", {{32768, point(18, 8000, 70000, 30000)},
                         {55296, point(24, 2750, 49315, 27772)},
                         {71680, point(26, 2500, 46821, 15406)}});
}

// Source: MLCommons' reference convergence points of resnet, rounds 1.0 to 3.0.
TEST(Configurations, OfResNet50HaveItsReferencePoints) {
  const auto point = [](double rate, double warmup, double decay, double wd, double momentum) {
    return std::map<std::string, double>{
        {"/schedule/learning_rate", rate},       {"/schedule/warmup_epochs", warmup},
        {"/schedule/decay_steps", decay},        {"/schedule/power", 2},
        {"/schedule/end_learning_rate", 0.0001}, {"/optimizer/weight_decay", wd},
        {"/optimizer/momentum", momentum},       {"/evaluation/every_epochs", 4}};
  };
  expect_points("resnet50", {{1632, point(7.4, 2, 27476, 5e-5, 0.9)},
                             {3264, point(10.5, 2, 14523, 5e-5, 0.9)},
                             {4096, point(10, 5, 13137, 2e-4, 0.9)},
                             {8192, point(17, 5, 6095, 2e-4, 0.9)},
                             {32768, point(21.2, 16, 2267, 2.5e-5, 0.94)}});
}

/// The rate of an update of a configuration, for its own numbers of samples and epochs.
nn::Schedule schedule_of(const std::string& path, const std::vector<std::string>& overrides) {
  const json config = base::load_config(path, overrides);
  const std::int64_t batch = config["training"]["global_batch_size"];
  const base::ObjectReader root(config, path);
  return nn::parse_schedule(root.object("schedule", "rates"), batch,
                            config["dataset"]["train_samples"].get<std::int64_t>() / batch,
                            config["epochs"]);
}

// Source: Goyal et al., arXiv:1706.02677.
TEST(Configurations, OfGoyalScaleTheRateByTheBatch) {
  const char* const path = "configs/resnet50/goyal_8192.json";
  const nn::Schedule large = schedule_of(path, {});
  EXPECT_DOUBLE_EQ(large.learning_rate(0), 0.1);
  EXPECT_DOUBLE_EQ(large.learning_rate(156 * 5), 3.2);
  EXPECT_DOUBLE_EQ(large.learning_rate(156 * 30 - 1), 3.2);
  EXPECT_DOUBLE_EQ(large.learning_rate(156 * 30), 0.32);
  EXPECT_NEAR(large.learning_rate(156 * 89), 0.0032, 1e-12);
  const nn::Schedule small = schedule_of(path, {"training.global_batch_size=256"});
  for (const std::int64_t epoch : {0, 3, 29})
    EXPECT_DOUBLE_EQ(small.learning_rate(5004 * epoch), 0.1);
}

// Source: the solver files of NVIDIA's Caffe.
TEST(Configurations, OfAlexNetHaveThePublishedRates) {
  struct Point {
    const char* file;
    std::int64_t warmup, steps;
    double peak;
  };
  for (const Point& point : std::vector<Point>{{"imagenet_1024", 0, 125000, 2},
                                               {"imagenet_8192", 600, 15600, 10},
                                               {"imagenet_16384", 400, 7800, 16},
                                               {"imagenet_bn_512", 0, 250000, 0.08},
                                               {"imagenet_bn_512_lars", 0, 250000, 1},
                                               {"imagenet_bn_8192", 600, 15600, 10},
                                               {"imagenet_bn_16384", 400, 7800, 24},
                                               {"imagenet_bn_32768", 400, 4000, 32}}) {
    SCOPED_TRACE(point.file);
    const nn::Schedule schedule =
        schedule_of(std::string("configs/alexnet/") + point.file + ".json", {});
    EXPECT_DOUBLE_EQ(schedule.learning_rate(0), point.warmup > 0 ? 1.0 : point.peak);
    const double left = 1.0 - static_cast<double>(point.warmup) / static_cast<double>(point.steps);
    EXPECT_NEAR(schedule.learning_rate(point.warmup), point.peak * left * left, 1e-9);
    EXPECT_NEAR(schedule.learning_rate(point.steps / 2), point.peak / 4.0, 1e-9);
    EXPECT_EQ(schedule.learning_rate(point.steps), 0.0);
  }
}

// Source: MLCommons' reference convergence points of deepcam, rounds 1.0 to 3.0.
TEST(Configurations, OfDeepCamHaveItsReferencePoints) {
  const auto point = [](double rate, double warmup) {
    return std::map<std::string, double>{
        {"/schedule/learning_rate", rate},     {"/schedule/warmup_steps", warmup},
        {"/optimizer/weight_decay", 0.01},     {"/optimizer/beta1", 0.9},
        {"/optimizer/beta2", 0.999},           {"/optimizer/epsilon", 1e-6},
        {"/evaluation/every_epochs", 1},       {"/dataset/train_samples", 121266},
        {"/dataset/validation_samples", 15158}};
  };
  auto points = Points{{128, point(0.00155, 0)},
                       {256, point(0.002, 0)},
                       {512, point(0.004, 100)},
                       {1024, point(0.004, 200)},
                       {2048, point(0.0055, 400)}};
  points[128]["/schedule/t_max"] = 9000;
  const auto milestones = [&](std::int64_t batch, std::vector<double> updates) {
    for (std::size_t i = 0; i < updates.size(); ++i) {
      points[batch]["/schedule/milestones/" + std::to_string(i)] = updates[i];
    }
  };
  milestones(256, {4096, 8192});
  milestones(512, {2048, 4096});
  milestones(1024, {1100, 4096});
  milestones(2048, {800});
  expect_points("deepcam", points);
}

}  // namespace
