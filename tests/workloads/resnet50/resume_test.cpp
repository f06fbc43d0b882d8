// A training that is saved and resumed ends in the bits of one that was never stopped.
// Hides how the arrays of a state are compared.
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "runner/base/thrown_message.h"
#include "staging/checkpoint_file.h"
#include "staging/h5.h"
#include "workloads/resnet50/trial.h"

namespace {

using resnet50::config_of;
using resnet50::SharedImages;
using resnet50::Trial;
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

/// Four epochs of two steps; batch norms of groups that lie on several ranks.
nlohmann::json long_config(const SharedImages& images) {
  nlohmann::json config = config_of(images, "none");
  config["epochs"] = 4;
  return config;
}

void first_part(Trial& trial) {
  trial.workload().train(2);
  trial.workload().evaluate(nullptr);
  trial.workload().train(1);
}

/// The rest of the epoch and what follows; returns the qualities.
std::vector<double> second_part(Trial& trial) {
  std::vector<double> qualities;
  trial.workload().train(1);
  qualities.push_back(trial.workload().evaluate(nullptr));
  trial.workload().train(3);
  qualities.push_back(trial.workload().evaluate(nullptr));
  trial.workload().train(1);
  return qualities;
}

class Resume : public testing::Test {
 protected:
  std::string path() const { return images_.path() + "/checkpoint.h5"; }
  void save(Trial& trial) const {
    staging::write_checkpoint(world_, path(), "", trial.workload().state());
  }
  void expect_same_bits_again(const nlohmann::json& config) {
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
      resumed.workload().restore(reader, 3);
    }
    EXPECT_EQ(second_part(resumed), expected);
    EXPECT_EQ(bits_of(resumed), last);
    EXPECT_EQ(resumed.workload().replica_hash(), undisturbed.workload().replica_hash());
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const SharedImages images_{world_};
};

TEST_F(Resume, InTheMiddleOfAnEpochEndsInTheSameBits) {
  expect_same_bits_again(long_config(images_));
}

TEST_F(Resume, KeepsWhatLarsRemembersOfItsRate) {
  nlohmann::json config = long_config(images_);
  config["optimizer"] = {{"name", "lars"}, {"variant", "corrected"}, {"weight_decay", 1e-4}};
  config["schedule"] = {{"name", "cosine"}, {"learning_rate", 2.0}};
  expect_same_bits_again(config);
}

TEST_F(Resume, OnOneRankHasTheWeightsAndStatisticsOfAll) {
  Trial saved(world_, long_config(images_));
  first_part(saved);
  save(saved);
  const runner::Communicator alone = world_.split(-1, 0);
  Trial resumed(alone, long_config(images_));
  const staging::CheckpointReader reader(alone, path());
  resumed.workload().restore(reader, 3);
  const auto expected = saved.weights(), got = resumed.weights();
  for (const auto& [name, values] : expected) {
    const bool exact = name.find("running_") == std::string::npos;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float bound = exact ? 0.0F : 1e-6F * (1.0F + std::abs(values[i]));
      ASSERT_NEAR(got.at(name)[i], values[i], bound) << name;
    }
  }
}

TEST_F(Resume, GivesWeightsThatCanBeEvaluated) {
  Trial saved(world_, long_config(images_));
  first_part(saved);
  save(saved);
  nlohmann::json config = long_config(images_);
  config["seed"] = 12;
  Trial other(world_, config);
  other.workload().load_weights(staging::H5StateReader(path()));
  EXPECT_EQ(other.workload().replica_hash(), saved.workload().replica_hash());
  EXPECT_EQ(other.workload().evaluate(nullptr), saved.workload().evaluate(nullptr));
}

TEST_F(Resume, TellsItsSizeBeforehand) {
  for (const double momentum : {0.0, 0.9}) {
    nlohmann::json config = long_config(images_);
    config["optimizer"]["momentum"] = momentum;
    Trial trial(world_, config);
    std::int64_t bytes = 0;
    for (const base::StateArray& array : trial.workload().state()) bytes += array.total_bytes();
    EXPECT_EQ(trial.workload().state_bytes(), bytes) << momentum;
  }
}

TEST_F(Resume, RefusesTheStateOfAnotherModel) {
  Trial saved(world_, long_config(images_));
  save(saved);
  nlohmann::json config = long_config(images_);
  config["model"]["width"] = 32;
  Trial other(world_, config);
  const staging::CheckpointReader reader(world_, path());
  EXPECT_THAT(
      base::thrown_message<base::Error>([&] { other.workload().restore(reader, 0); }),
      testing::HasSubstr("conv1.weight: is of shape [16, 3, 7, 7], expected [32, 3, 7, 7]"));
}

}  // namespace
