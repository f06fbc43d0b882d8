// A training that is saved and resumed ends in the bits of one that was never stopped.
// Hides how the arrays of a state are compared.
#include <gmock/gmock.h>

#include "staging/checkpoint_file.h"
#include "workloads/deepcam/trial.h"

namespace {

using deepcam::config_of;
using deepcam::SharedScenes;
using deepcam::Trial;
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

/// The rest of the epoch and what follows; returns scores and a loss.
std::vector<double> second_part(Trial& trial) {
  std::vector<double> told;
  trial.workload().train(1);
  told.push_back(trial.workload().evaluate(nullptr));
  told.push_back(trial.workload().train(3).mean_loss);
  told.push_back(trial.workload().evaluate(nullptr));
  return told;
}

class DeepCamResume : public testing::Test {
 protected:
  const runner::Communicator world_ = runner::Communicator::world();
  const SharedScenes scenes_{world_};
};

TEST_F(DeepCamResume, EndsInTheSameBits) {
  for (const char* const rule : {"lamb", "adam", "adamw"}) {
    SCOPED_TRACE(rule);
    json config = config_of(scenes_, world_);
    config["optimizer"] = {{"name", rule}, {"weight_decay", 0.01}};
    config["dataset"]["cache_bytes"] = 500'000;
    Trial undisturbed(world_, config), saved(world_, config), resumed(world_, config);
    first_part(undisturbed);
    const std::vector<double> expected = second_part(undisturbed);
    first_part(saved);
    const std::string path = scenes_.path() + "/checkpoint.h5";
    staging::write_checkpoint(world_, path, "", saved.workload().state());
    EXPECT_EQ(second_part(saved), expected);
    EXPECT_EQ(bits_of(saved), bits_of(undisturbed));  // saving changed nothing
    {
      const staging::CheckpointReader reader(world_, path);
      resumed.workload().restore(reader, kFirstSteps);
    }
    EXPECT_EQ(second_part(resumed), expected);
    EXPECT_EQ(bits_of(resumed), bits_of(undisturbed));
  }
}

TEST_F(DeepCamResume, TellsItsSizeBeforehand) {
  Trial trial(world_, config_of(scenes_, world_));
  std::int64_t bytes = 0;
  for (const base::StateArray& array : trial.workload().state()) bytes += array.total_bytes();
  EXPECT_EQ(trial.workload().state_bytes(), bytes);
}

}  // namespace
