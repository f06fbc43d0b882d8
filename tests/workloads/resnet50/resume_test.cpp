// Tests that a training that is saved and resumed ends in the bits of an uninterrupted one.
#include <gmock/gmock.h>

#include <cmath>

#include "workloads/resnet50/trial.h"
#include "workloads/resume_trial.h"

namespace {

using resnet50::config_of;
using resnet50::SharedImages;
using resnet50::Trial;
using Base = workload_trial::ResumeTest<Trial, SharedImages>;

class Resume : public Base {
 protected:
  Resume() : Base({2, 1, 3}) {}
  /// Four epochs of two steps; batch-norm groups span ranks.
  nlohmann::json config() const {
    nlohmann::json config = config_of(data_, "stream");
    config["epochs"] = 4;
    return config;
  }
};

TEST_F(Resume, InTheMiddleOfAnEpochEndsInTheSameBits) { expect_same_bits(config()); }

TEST_F(Resume, WithDecodedImagesEndsInTheSameBits) {
  nlohmann::json keeping = config();
  keeping["dataset"]["cache_bytes"] = 200'000;
  expect_resumed_bits(keeping);
  EXPECT_THAT(
      Trial(world_, keeping).workload().keys_without_effect(),
      testing::UnorderedElementsAre(
          "/cache", "/dataset/decode_threads", "/dataset/prefetch_batches", "/dataset/cache_bytes",
          "/epochs", "/training/late_update", "/training/gradient_density",
          "/training/error_feedback", "/training/divided_update", "/training/gradient_piece_kib"));
}

TEST_F(Resume, KeepsWhatLarsRemembersOfItsRate) {
  nlohmann::json lars = config();
  lars["optimizer"] = {{"name", "lars"}, {"variant", "corrected"}, {"weight_decay", 1e-4}};
  lars["schedule"] = {{"name", "cosine"}, {"learning_rate", 2.0}};
  expect_resumed_bits(lars);
}

TEST_F(Resume, OnOneRankHasTheWeightsAndStatisticsOfAll) {
  Trial saved(world_, config());
  first_part(saved);
  save(saved);
  Trial resumed(alone_, config());
  restore(resumed, alone_);
  const auto expected = saved.weights(), got = resumed.weights();
  for (const auto& [name, values] : expected) {
    const bool exact = name.find("running_") == std::string::npos;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float bound = exact ? 0.0F : 1e-6F * (1.0F + std::abs(values[i]));
      ASSERT_NEAR(got.at(name)[i], values[i], bound) << name;
    }
  }
}

TEST_F(Resume, GivesWeightsThatCanBeEvaluated) { expect_weights_that_can_be_evaluated(config()); }

TEST_F(Resume, TellsItsSizeBeforehand) {
  for (const double momentum : {0.0, 0.9}) {
    nlohmann::json some = config();
    some["optimizer"]["momentum"] = momentum;
    expect_size_told_beforehand(some);
  }
}

TEST_F(Resume, RefusesTheStateOfAnotherModel) {
  nlohmann::json wider = config();
  wider["model"]["width"] = 32;
  EXPECT_THAT(
      refusal(wider, config()),
      testing::HasSubstr("conv1.weight: is of shape [16, 3, 7, 7], expected [32, 3, 7, 7]"));
}

TEST_F(Resume, EndsUpdatesThatWaitBeforeWeightsAreRead) {
  workload_trial::expect_late_bits<Trial>(world_, config());
}

TEST_F(Resume, KeepsWhatPayloadsLeaveOut) { expect_kept_rests(config()); }

TEST_F(Resume, GoesOnWhetherNodesDivideUpdatesOrNot) { expect_divided_state(config()); }

TEST_F(Resume, GivesTheFirstNodeWhatMoreLeftOut) { expect_rests_of_fewer_nodes(config()); }

}  // namespace
