// The benchmark on generated clicks, ready to train, for tests on any number of ranks.
// Hides where the clicks lie, and how a workload is put together.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "shared_directory.h"
#include "telemetry_account.h"
#include "workloads/dlrm/config.h"
#include "workloads/dlrm/generate.h"
#include "workloads/dlrm/tables.h"
#include "workloads/dlrm/workload.h"

namespace dlrm {

class MemoryState final : public runner::StateWriter, public runner::StateReader {
 public:
  using Shape = std::vector<std::int64_t>;
  void write(const std::string& name, const Shape& shape, std::span<const float> data) override {
    arrays_[name].assign(data.begin(), data.end());
    shapes_[name] = shape;
  }
  void write(const std::string& name, std::int64_t value) override { integers_[name] = value; }
  bool has(const std::string& name) const override { return arrays_.count(name) == 1; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, values] : arrays_) names.push_back(name);
    return names;
  }
  std::vector<float> read(const std::string& name, const Shape& shape) const override {
    const auto found = shapes_.find(name);
    if (found == shapes_.end() || found->second != shape) {
      throw base::DataError("memory: " + name + ": absent or of another shape");
    }
    return arrays_.at(name);
  }
  std::int64_t read_integer(const std::string& name) const override { return integers_.at(name); }
  std::map<std::string, std::vector<float>>& arrays() { return arrays_; }
  const Shape& shape(const std::string& name) const { return shapes_.at(name); }

 private:
  std::map<std::string, std::vector<float>> arrays_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, std::int64_t> integers_;
};

inline constexpr char kSmallTables[] = "50,7,200,3,31";
inline constexpr std::int64_t kTrainSamples = 300, kTestSamples = 101, kBatch = 64;

/// A folder that all ranks see, with generated clicks.
class SharedClicks {
 public:
  explicit SharedClicks(const runner::Communicator& world, std::int64_t train = kTrainSamples)
      : folder_(world) {
    if (world.rank() == 0) {
      GenerateOptions options;
      options.output = path() + "/data";
      options.samples = train;
      options.test_samples = kTestSamples;
      options.validation_samples = 0;
      options.dense = 5;
      options.tables = parse_tables(kSmallTables);
      options.threads = 1;
      generate_clicks(options);
    }
    world.barrier();
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const runner::SharedDirectory folder_;
};

inline nlohmann::json config_of(const SharedClicks& clicks, const std::string& staging) {
  return {
      {"workload", "dlrm"},
      {"seed", 11},
      {"epochs", 2},
      {"dataset",
       {{"train", clicks.path() + "/data/train.bin"}, {"test", clicks.path() + "/data/test.bin"}}},
      {"staging", {{"mode", staging}, {"directory", clicks.path() + "/staged"}}},
      {"model",
       {{"dense_features", 5},
        {"embedding_width", 40},
        {"bottom", {24, 40}},
        {"top", {32, 1}},
        {"tables", kSmallTables}}},
      {"training", {{"global_batch_size", kBatch}}},
      {"optimizer", {{"name", "sgd"}, {"momentum", 0}}},
      {"schedule", {{"learning_rate", 0.3}}}};
}

/// A workload on `world`, ready to train.
class Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : world_(world), topology_(runner::discover_topology(world)), telemetry_(clock_) {
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
  /// Collective. On rank 0 alone.
  MemoryState weights() {
    MemoryState state;
    workload_->save_weights(world_.rank() == 0 ? &state : nullptr);
    world_.barrier();  // the layers' are shared: nobody changes them while another reads
    return state;
  }

 private:
  const runner::Communicator& world_;
  base::SystemClock clock_;
  runner::Topology topology_;
  telemetry::Telemetry telemetry_;
  std::unique_ptr<runner::Workload> workload_;
  nlohmann::json facts_;
};

}  // namespace dlrm
