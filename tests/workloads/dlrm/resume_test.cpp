// Tests that a resumed run ends in the same bits as an undisturbed one, or on another number of
// ranks within rounding.
#include <gmock/gmock.h>

#include "workloads/dlrm/trial.h"
#include "workloads/resume_trial.h"

namespace {

using dlrm::config_of;
using dlrm::SharedClicks;
using dlrm::Trial;
using nlohmann::json;
using Base = workload_trial::ResumeTest<Trial, SharedClicks, testing::TestWithParam<std::string>>;

class DlrmResume : public Base {
 protected:
  /// An epoch has five steps.
  DlrmResume() : Base({2, 2, 4}) {}
  json config() const {
    json config = config_of(data_, "stream");
    config["optimizer"]["momentum"] = 0.9;
    config["schedule"] = {{"name", "delayed_polynomial"},
                          {"learning_rate", 0.1},
                          {"warmup_steps", 4},
                          {"decay_start_step", 5},
                          {"decay_steps", 5}};
    config["embeddings"] = {{"optimizer", GetParam()}, {"replicate_up_to_rows", 10}};
    return config;
  }
};

TEST_P(DlrmResume, EndsInTheSameBits) { expect_same_bits(config()); }

TEST_P(DlrmResume, EndsUpdatesThatWaitBeforeWeightsAreRead) {
  workload_trial::expect_late_bits<Trial>(world_, config());
}

TEST_P(DlrmResume, KeepsWhatPayloadsLeaveOut) { expect_kept_rests(config()); }

TEST_P(DlrmResume, GoesOnWhetherNodesDivideUpdatesOrNot) { expect_divided_state(config()); }

TEST_P(DlrmResume, GoesOnOnOneRank) {
  Trial saved(world_, config());
  first_part(saved);
  save(saved);
  Trial resumed(alone_, config());
  restore(resumed, alone_);
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
    expect_size_told_beforehand(some);
  }
}

TEST_P(DlrmResume, GivesWeightsThatCanBeEvaluated) {
  expect_weights_that_can_be_evaluated(config());
}

TEST_P(DlrmResume, RefusesTheStateOfAnotherModel) {
  json wider = config();
  wider["model"]["bottom"] = {32, 40};
  EXPECT_THAT(refusal(wider, config()),
              testing::HasSubstr("bot_l.0.weight: is of shape [24, 5], expected [32, 5]"));
}

TEST_P(DlrmResume, RefusesTheStateOfOtherTables) {
  for (const char* tables : {"50,7,201,3,31", "50,7,199,3,31"}) {
    json other_tables = config();
    other_tables["model"]["tables"] = tables;
    other_tables["dataset"]["max_ind_range"] = 199;
    EXPECT_THAT(refusal(other_tables, config()),
                testing::HasSubstr("emb_l.2.weight: is of shape ["));
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, DlrmResume, testing::Values("sgd", "adagrad", "rowwise_adagrad"),
                         [](const auto& rule) { return rule.param; });

}  // namespace
