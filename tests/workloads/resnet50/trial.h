// The benchmark on generated images, ready to train, for tests on any number of ranks.
// Hides where the images lie, and how a workload is put together.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "telemetry_account.h"
#include "workloads/resnet50/config.h"
#include "workloads/resnet50/generate.h"
#include "workloads/resnet50/workload.h"

namespace resnet50 {

class MemoryState final : public runner::StateWriter, public runner::StateReader {
 public:
  void write(const std::string& name, const std::vector<std::int64_t>&,
             std::span<const float> data) override {
    arrays_[name].assign(data.begin(), data.end());
  }
  void write(const std::string& name, std::int64_t value) override { integers_[name] = value; }
  bool has(const std::string& name) const override { return arrays_.count(name) == 1; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, values] : arrays_) names.push_back(name);
    return names;
  }
  std::vector<float> read(const std::string& name,
                          const std::vector<std::int64_t>& shape) const override {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const auto found = arrays_.find(name);
    if (found == arrays_.end() || static_cast<std::int64_t>(found->second.size()) != count) {
      throw base::DataError("memory: " + name + ": absent or of another shape");
    }
    return found->second;
  }
  std::int64_t read_integer(const std::string& name) const override { return integers_.at(name); }
  std::map<std::string, std::vector<float>>& arrays() { return arrays_; }

 private:
  std::map<std::string, std::vector<float>> arrays_;
  std::map<std::string, std::int64_t> integers_;
};

/// A folder that all ranks see, with generated images; removed by rank 0 at the end.
class SharedImages {
 public:
  explicit SharedImages(const runner::Communicator& world) : world_(world) {
    std::string path;
    if (world.rank() == 0) {
      std::string pattern =
          (std::filesystem::temp_directory_path() / "trainmark-test-XXXXXX").string();
      path = mkdtemp(pattern.data());
      GenerateOptions options;
      options.output = path + "/data";
      options.classes = 3;
      options.train_per_class = 40;
      options.validation_per_class = 7;
      options.threads = 1;
      generate_images(options);
    }
    path_ = world.broadcast(path, 0);
  }
  ~SharedImages() {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(path_);
  }
  const std::string& path() const { return path_; }
  std::filesystem::path any_image(const std::string& part) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(path_) / "data" / part)) {
      if (entry.is_regular_file()) return entry.path();
    }
    throw base::DataError("no image below " + path_);
  }

 private:
  const runner::Communicator& world_;
  std::string path_;
};

inline nlohmann::json config_of(const SharedImages& images, const std::string& staging) {
  return {{"workload", "resnet50"},
          {"seed", 11},
          {"epochs", 2},
          {"dataset",
           {{"train", images.path() + "/data/train"},
            {"validation", images.path() + "/data/validation"},
            {"preprocess", "cifar"},
            {"decode_threads", 1}}},
          {"staging", {{"mode", staging}, {"directory", images.path() + "/staged"}}},
          {"model", {{"image_size", 32}, {"classes", 3}, {"width", 16}}},
          {"training", {{"global_batch_size", 48}, {"bn_group_size", 6}, {"label_smoothing", 0.1}}},
          {"optimizer", {{"name", "sgd"}, {"momentum", 0.9}}},
          {"schedule", {{"learning_rate", 0.05}}}};
}

/// A workload on `world`, ready to train.
class Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : topology_(runner::discover_topology(world)), telemetry_(clock_) {
    const base::ObjectReader reader(config, "test.json");
    (void)runner::parse_run_config(reader, "test.json");
    check_config(reader);
    reader.reject_unknown();
    workload_ = make_workload(runner::parse_run_config(reader, "test.json"),
                              {world, topology_, telemetry_, 1});
    workload_->open_data();
    workload_->initialize();
    facts_ = workload_->stage();
  }
  ~Trial() { telemetry::expect_whole_entry(telemetry::rank_entry({0, "here", 0, 1}, telemetry_)); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  runner::Workload& workload() { return *workload_; }
  const nlohmann::json& staging() const { return facts_; }
  std::int64_t count(telemetry::Counter counter) const { return telemetry_.count(counter); }
  std::map<std::string, std::vector<float>> weights() {
    MemoryState state;
    workload_->save_weights(&state);
    return state.arrays();
  }

 private:
  base::SystemClock clock_;
  runner::Topology topology_;
  telemetry::Telemetry telemetry_;
  std::unique_ptr<runner::Workload> workload_;
  nlohmann::json facts_;
};

}  // namespace resnet50
