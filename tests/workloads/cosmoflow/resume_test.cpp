// A training that is saved and resumed ends in the bits of one that was never stopped, and on
// another number of ranks close by. Hides how the arrays of a state are compared.
#include <gmock/gmock.h>

#include "runner/base/thrown_message.h"
#include "staging/checkpoint_file.h"
#include "staging/h5.h"
#include "workloads/cosmoflow/trial.h"

namespace {

using cosmoflow::random_config_of;
using cosmoflow::SharedUniverses;
using cosmoflow::Trial;
using cosmoflow::with_split;
using nlohmann::json;
using Bits = std::map<std::string, std::vector<std::byte>>;

/// What this rank has of every array.
Bits bits_of(Trial& trial) {
  Bits bits;
  for (const base::StateArray& array : trial.workload().state()) {
    std::vector<std::byte> scratch;
    const auto bytes = array.bytes(scratch);
    bits[array.name].assign(bytes.begin(), bytes.end());
  }
  return bits;
}

/// Epochs of three steps; the first part ends within one.
constexpr std::int64_t kFirstSteps = 2;

void first_part(Trial& trial) {
  trial.workload().train(1);
  trial.workload().evaluate(nullptr);
  trial.workload().train(1);
}

/// The rest of the epoch and what follows; returns errors and a loss.
std::vector<double> second_part(Trial& trial) {
  std::vector<double> told;
  trial.workload().train(1);
  told.push_back(trial.workload().evaluate(nullptr));
  told.push_back(trial.workload().train(4).mean_loss);
  told.push_back(trial.workload().evaluate(nullptr));
  return told;
}

class CosmoFlowResume : public testing::Test {
 protected:
  /// Whole samples, and parts of them where there are ranks for it; all that is random, samples
  /// that are kept, and rates that change.
  std::vector<json> configs() const {
    json config = random_config_of(universes_, "none");
    config["dataset"]["cache_bytes"] = 200'000;
    config["optimizer"] = {{"weight_decay", 0.01}};
    config["schedule"]["decay_boundary_epochs"] = {1};
    config["schedule"]["decay_factors"] = {0.5};
    std::vector<json> all = {config};
    if (world_.size() % 2 == 0) all.push_back(with_split(config, {2, 1}));
    if (world_.size() % 4 == 0) all.push_back(with_split(config, {2, 2}));
    return all;
  }
  std::string path() const { return universes_.path() + "/checkpoint.h5"; }
  void save(Trial& trial) const {
    staging::write_checkpoint(world_, path(), "", trial.workload().state());
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  const SharedUniverses universes_{world_};
};

TEST_F(CosmoFlowResume, EndsInTheSameBits) {
  for (const json& config : configs()) {
    SCOPED_TRACE(config["training"].dump());
    Trial undisturbed(world_, config), saved(world_, config), resumed(world_, config);
    first_part(undisturbed);
    const std::vector<double> expected = second_part(undisturbed);
    first_part(saved);
    save(saved);
    EXPECT_EQ(second_part(saved), expected);
    const Bits last = bits_of(undisturbed);
    EXPECT_EQ(bits_of(saved), last);  // saving changed nothing
    {
      const staging::CheckpointReader reader(world_, path());
      resumed.workload().restore(reader, kFirstSteps);
    }
    EXPECT_EQ(second_part(resumed), expected);
    EXPECT_EQ(bits_of(resumed), last);
    EXPECT_EQ(resumed.workload().replica_hash(), undisturbed.workload().replica_hash());
  }
}

/// Sums in another order, and at times another maximum of points that are nearly equal.
TEST_F(CosmoFlowResume, GoesOnOnOneRank) {
  constexpr double kTolerance = 1e-3;
  for (const json& config : configs()) {
    SCOPED_TRACE(config["training"].dump());
    Trial saved(world_, config);
    first_part(saved);
    save(saved);
    Trial resumed(alone_, with_split(config, {}));
    {
      const staging::CheckpointReader reader(alone_, path());
      resumed.workload().restore(reader, kFirstSteps);
    }
    EXPECT_EQ(resumed.weights(), saved.weights());
    const std::vector<double> expected = second_part(saved), told = second_part(resumed);
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_NEAR(told[i], expected[i], kTolerance) << i;
    }
  }
}

TEST_F(CosmoFlowResume, TellsItsSizeBeforehand) {
  for (const json& config : configs()) {
    Trial trial(world_, config);
    std::int64_t bytes = 0;
    for (const base::StateArray& array : trial.workload().state()) bytes += array.total_bytes();
    EXPECT_EQ(trial.workload().state_bytes(), bytes);
  }
}

TEST_F(CosmoFlowResume, GivesWeightsThatCanBeEvaluated) {
  for (const json& config : configs()) {
    Trial saved(world_, config);
    first_part(saved);
    save(saved);
    json other_seed = config;
    other_seed["seed"] = 12;
    Trial other(world_, other_seed);
    world_.barrier();  // the ranks of a node have one copy of the weights
    other.workload().load_weights(staging::H5StateReader(path()));
    EXPECT_EQ(other.workload().replica_hash(), saved.workload().replica_hash());
    EXPECT_EQ(other.workload().evaluate(nullptr), saved.workload().evaluate(nullptr));
  }
}

TEST_F(CosmoFlowResume, RefusesTheStateOfAnotherModel) {
  json config = configs().front();
  Trial saved(world_, config);
  save(saved);
  config["model"]["channels"] = {32, 32};
  Trial other(world_, config);
  const staging::CheckpointReader reader(world_, path());
  EXPECT_THAT(base::thrown_message<base::Error>([&] { other.workload().restore(reader, 0); }),
              testing::HasSubstr("is of shape ["));
}

TEST_F(CosmoFlowResume, MayChangeWhatReadsAlone) {
  Trial trial(world_, configs().front());
  EXPECT_THAT(trial.workload().keys_without_effect(),
              testing::UnorderedElementsAre("/staging", "/dataset/decode_threads",
                                            "/dataset/prefetch_batches", "/dataset/cache_bytes",
                                            "/epochs", "/training/memory_limit_gib"));
}

}  // namespace
