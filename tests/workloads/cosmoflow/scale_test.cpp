// Trains, and counts what `scale` counts.
#include "workloads/cosmoflow/trial.h"
#include "workloads/scale_trial.h"

namespace cosmoflow {
namespace {

class CosmoFlowScale : public testing::Test {
 protected:
  const runner::Communicator world_ = runner::Communicator::world();
  const SharedUniverses universes_{world_};
};

TEST_F(CosmoFlowScale, CountsWhatTrainingCounts) {
  workload_trial::expect_counts_of_scale<Trial>(world_, config_of(universes_, "stream"),
                                                kTrainSamples, training_scale);
}

TEST_F(CosmoFlowScale, CountsWhatRanksThatShareSamplesCount) {
  for (const Split& split : splits_of(world_.size())) {
    nlohmann::json config = with_split(config_of(universes_, "stream"), split);
    config["training"]["gradient_piece_kib"] = 16;
    workload_trial::expect_counts_of_scale<Trial>(world_, workload_trial::apart(world_), 1, config,
                                                  kTrainSamples, training_scale);
  }
}

}  // namespace
}  // namespace cosmoflow
