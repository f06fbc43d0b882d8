// The workload on generated clicks, ready to train, for tests on any number of ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "shared_directory.h"
#include "workloads/dlrm/config.h"
#include "workloads/dlrm/generate.h"
#include "workloads/dlrm/tables.h"
#include "workloads/dlrm/workload.h"
#include "workloads/workload_trial.h"

namespace dlrm {

inline constexpr char kSmallTables[] = "50,7,200,3,31";
inline constexpr std::int64_t kTrainSamples = 300, kTestSamples = 101, kBatch = 64;

/// A folder with generated clicks, shared by all ranks.
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

class Trial : public workload_trial::Trial {
 public:
  Trial(const runner::Communicator& world, const nlohmann::json& config)
      : workload_trial::Trial(world, config, check_config, make_workload) {}
  Trial(const runner::Communicator& world, runner::Topology topology, const nlohmann::json& config)
      : workload_trial::Trial(world, std::move(topology), config, check_config, make_workload) {}
};

}  // namespace dlrm
