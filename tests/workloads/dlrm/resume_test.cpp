// A training that is saved and resumed ends in the bits of one that was never stopped, and on
// another number of ranks close by. Hides how the arrays of a state are compared.
#include <gmock/gmock.h>

#include <cmath>

#include "runner/base/thrown_message.h"
#include "staging/checkpoint_file.h"
#include "staging/h5.h"
#include "workloads/dlrm/trial.h"

namespace {

using dlrm::config_of;
using dlrm::SharedClicks;
using dlrm::Trial;
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

/// Epochs of five steps; the first part ends within one.
constexpr std::int64_t kFirstSteps = 3;

void first_part(Trial& trial) {
  trial.workload().train(2);
  trial.workload().evaluate(nullptr);
  trial.workload().train(1);
}

/// The rest of the epoch and what follows; returns qualities and a loss.
std::vector<double> second_part(Trial& trial) {
  std::vector<double> told;
  trial.workload().train(2);
  told.push_back(trial.workload().evaluate(nullptr));
  told.push_back(trial.workload().train(4).mean_loss);
  told.push_back(trial.workload().evaluate(nullptr));
  return told;
}

class DlrmResume : public testing::TestWithParam<std::string> {
 protected:
  json config() const {
    json config = config_of(clicks_, "none");
    config["optimizer"]["momentum"] = 0.9;
    config["schedule"] = {{"name", "delayed_polynomial"},
                          {"learning_rate", 0.1},
                          {"warmup_steps", 4},
                          {"decay_start_step", 5},
                          {"decay_steps", 5}};
    config["embeddings"] = {{"optimizer", GetParam()}, {"replicate_up_to_rows", 10}};
    return config;
  }
  std::string path() const { return clicks_.path() + "/checkpoint.h5"; }
  void save(Trial& trial) const {
    staging::write_checkpoint(world_, path(), "", trial.workload().state());
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  const SharedClicks clicks_{world_};
};

TEST_P(DlrmResume, EndsInTheSameBits) {
  Trial undisturbed(world_, config()), saved(world_, config()), resumed(world_, config());
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

TEST_P(DlrmResume, GoesOnOnOneRank) {
  Trial saved(world_, config());
  first_part(saved);
  save(saved);
  Trial resumed(alone_, config());
  {
    const staging::CheckpointReader reader(alone_, path());
    resumed.workload().restore(reader, kFirstSteps);
  }
  const auto whole = saved.saved_weights(), of_one = resumed.saved_weights();
  if (world_.rank() == 0) {
    EXPECT_EQ(of_one.arrays, whole.arrays);
  }
  const std::vector<double> expected = second_part(saved), told = second_part(resumed);
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_NEAR(told[i], expected[i], 1e-5) << i;
}

TEST_P(DlrmResume, TellsItsSizeBeforehand) {
  for (const double momentum : {0.0, 0.9}) {
    json some = config();
    some["optimizer"]["momentum"] = momentum;
    Trial trial(world_, some);
    std::int64_t bytes = 0;
    for (const base::StateArray& array : trial.workload().state()) bytes += array.total_bytes();
    EXPECT_EQ(trial.workload().state_bytes(), bytes) << momentum;
  }
}

TEST_P(DlrmResume, GivesWeightsThatCanBeEvaluated) {
  Trial saved(world_, config());
  first_part(saved);
  save(saved);
  json other_seed = config();
  other_seed["seed"] = 12;
  Trial other(world_, other_seed);
  world_.barrier();  // the ranks of a node have one copy of the weights
  other.workload().load_weights(staging::H5StateReader(path()));
  EXPECT_EQ(other.workload().replica_hash(), saved.workload().replica_hash());
  EXPECT_EQ(other.workload().evaluate(nullptr), saved.workload().evaluate(nullptr));
}

TEST_P(DlrmResume, RefusesTheStateOfAnotherModel) {
  Trial saved(world_, config());
  save(saved);
  json wider = config();
  wider["model"]["bottom"] = {32, 40};
  Trial other(world_, wider);
  const staging::CheckpointReader reader(world_, path());
  EXPECT_THAT(base::thrown_message<base::Error>([&] { other.workload().restore(reader, 0); }),
              testing::HasSubstr("bot_l.0.weight: is of shape [24, 5], expected [32, 5]"));
}

TEST_P(DlrmResume, RefusesTheStateOfOtherTables) {
  Trial saved(world_, config());
  save(saved);
  for (const char* tables : {"50,7,201,3,31", "50,7,199,3,31"}) {
    json other_tables = config();
    other_tables["model"]["tables"] = tables;
    other_tables["dataset"]["max_ind_range"] = 199;
    Trial other(world_, other_tables);
    const staging::CheckpointReader reader(world_, path());
    EXPECT_THAT(base::thrown_message<base::Error>([&] { other.workload().restore(reader, 0); }),
                testing::HasSubstr("emb_l.2.weight: is of shape ["));
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, DlrmResume, testing::Values("sgd", "adagrad", "rowwise_adagrad"),
                         [](const auto& rule) { return rule.param; });

}  // namespace
