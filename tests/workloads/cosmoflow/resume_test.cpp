// Tests that a training that is saved and resumed ends in the bits of an uninterrupted one, and
// close to them on another number of ranks.
#include <gmock/gmock.h>

#include "workloads/cosmoflow/trial.h"
#include "workloads/resume_trial.h"

namespace {

using cosmoflow::random_config_of;
using cosmoflow::SharedUniverses;
using cosmoflow::Trial;
using cosmoflow::with_split;
using nlohmann::json;
using Base = workload_trial::ResumeTest<Trial, SharedUniverses>;

class CosmoFlowResume : public Base {
 protected:
  /// Epochs have three steps.
  CosmoFlowResume() : Base({1, 1, 4}) {}
  /// Whole samples and, with enough ranks, shared ones; with random augmentation and dropout,
  /// cached samples, and changing rates.
  std::vector<json> configs() const {
    json config = random_config_of(data_, "stream");
    config["dataset"]["cache_bytes"] = 200'000;
    config["optimizer"] = {{"weight_decay", 0.01}};
    config["schedule"]["decay_boundary_epochs"] = {1};
    config["schedule"]["decay_factors"] = {0.5};
    std::vector<json> all = {config};
    if (world_.size() % 2 == 0) all.push_back(with_split(config, {2, 1}));
    if (world_.size() % 4 == 0) all.push_back(with_split(config, {2, 2}));
    return all;
  }
};

TEST_F(CosmoFlowResume, EndsInTheSameBits) {
  expect_same_bits(configs().front());
  for (const json& config : configs()) {
    if (config == configs().front()) continue;
    SCOPED_TRACE(config["training"].dump());
    expect_resumed_bits(config);
  }
}

/// Sums have another order, and the maximum of nearly equal voxels may be another.
TEST_F(CosmoFlowResume, GoesOnOnOneRank) {
  constexpr double kTolerance = 1e-3;
  for (const json& config : configs()) {
    SCOPED_TRACE(config["training"].dump());
    Trial saved(world_, config);
    first_part(saved);
    save(saved);
    Trial resumed(alone_, with_split(config, {}));
    restore(resumed, alone_);
    EXPECT_EQ(resumed.weights(), saved.weights());
    const std::vector<double> expected = second_part(saved), told = second_part(resumed);
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_NEAR(told[i], expected[i], kTolerance) << i;
    }
  }
}

TEST_F(CosmoFlowResume, TellsItsSizeBeforehand) {
  for (const json& config : configs()) expect_size_told_beforehand(config);
}

TEST_F(CosmoFlowResume, GivesWeightsThatCanBeEvaluated) {
  for (const json& config : configs()) expect_weights_that_can_be_evaluated(config);
}

TEST_F(CosmoFlowResume, RefusesTheStateOfAnotherModel) {
  json wider = configs().front();
  wider["model"]["channels"] = {32, 32};
  EXPECT_THAT(refusal(wider, configs().front()), testing::HasSubstr("is of shape ["));
}

TEST_F(CosmoFlowResume, MayChangeWhatReadsAlone) {
  Trial trial(world_, configs().front());
  EXPECT_THAT(
      trial.workload().keys_without_effect(),
      testing::UnorderedElementsAre("/cache", "/dataset/decode_threads",
                                    "/dataset/prefetch_batches", "/dataset/cache_bytes", "/epochs",
                                    "/training/late_update", "/training/memory_limit_gib",
                                    "/training/gradient_density", "/training/error_feedback",
                                    "/training/divided_update", "/training/gradient_piece_kib"));
}

}  // namespace
