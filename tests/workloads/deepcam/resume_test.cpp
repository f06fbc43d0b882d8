// Tests that a training that is saved and resumed ends in the bits of an uninterrupted one.
#include "workloads/deepcam/trial.h"
#include "workloads/resume_trial.h"

namespace {

using deepcam::config_of;
using nlohmann::json;
using Base = workload_trial::ResumeTest<deepcam::Trial, deepcam::SharedScenes>;

class DeepCamResume : public Base {
 protected:
  /// Epochs have three steps.
  DeepCamResume() : Base({1, 1, 3}) {}
};

TEST_F(DeepCamResume, EndsInTheSameBits) {
  json config = config_of(data_, world_);
  config["dataset"]["cache_bytes"] = 500'000;
  config["optimizer"] = {{"name", "lamb"}, {"weight_decay", 0.01}};
  expect_same_bits(config);
  for (const char* const rule : {"adam", "adamw"}) {
    SCOPED_TRACE(rule);
    config["optimizer"]["name"] = rule;
    expect_resumed_bits(config);
  }
}

TEST_F(DeepCamResume, TellsItsSizeBeforehand) {
  expect_size_told_beforehand(config_of(data_, world_));
}

}  // namespace
