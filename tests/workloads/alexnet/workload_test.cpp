// Tests of the AlexNet workload on JPEG files: any number of ranks computes the result of one rank,
// dropout included; one that is resumed ends in the same bits.
#include "workloads/alexnet/workload.h"

#include <gtest/gtest.h>

#include "workloads/alexnet/trial.h"
#include "workloads/resume_trial.h"

namespace {

using alexnet::config_of;
using alexnet::SharedImages;
using alexnet::Trial;
using workload_trial::Arrays;
using workload_trial::update_error;

Arrays parameters_of(Arrays all) {
  std::erase_if(
      all, [](const auto& array) { return array.first.find("running_") != std::string::npos; });
  return all;
}

class AlexNetOnRanks : public workload_trial::ResumeTest<Trial, SharedImages> {
 protected:
  AlexNetOnRanks() : ResumeTest({2, 1, 3}) {}
};

TEST_F(AlexNetOnRanks, DoTheMathematicsOfOneRank) {
  for (const char* normalization : {"response", "batch", "batch_affine", "batch_first"}) {
    SCOPED_TRACE(normalization);
    Trial many(world_, config_of(data_, "shard", normalization));
    Trial one(alone_, config_of(data_, "stream", normalization));
    EXPECT_EQ(many.workload().info().train_samples, 120);
    EXPECT_EQ(many.workload().evaluate(nullptr), one.workload().evaluate(nullptr));
    const Arrays start = one.weights();
    const runner::TrainResult first_many = many.workload().train(1),
                              first_one = one.workload().train(1);
    EXPECT_EQ(first_many.samples, 48);
    // Convolutions and products of other numbers of samples may sum in another order.
    EXPECT_NEAR(first_many.mean_loss, first_one.mean_loss, 1e-5);
    EXPECT_LT(update_error(start, many.weights(), parameters_of(one.weights())), 1e-3);
    const auto hash = static_cast<std::int64_t>(many.workload().replica_hash() >> 1U);
    EXPECT_EQ(world_.allreduce_min(hash), world_.allreduce_max(hash));
    many.workload().clean_up();
  }
}

TEST_F(AlexNetOnRanks, EndInTheSameBitsWhenResumed) {
  for (const char* normalization : {"response", "batch"}) {
    nlohmann::json config = config_of(data_, "stream", normalization);
    config["epochs"] = 4;
    expect_same_bits(config);
  }
}

TEST_F(AlexNetOnRanks, DropOtherValuesInEveryEpoch) {
  nlohmann::json kept = config_of(data_, "stream"), dropped = kept;
  kept["model"]["dropout"] = 0.0;
  Trial one(world_, kept), other(world_, dropped);
  const double first = one.workload().train(1).mean_loss;
  EXPECT_NE(first, other.workload().train(1).mean_loss);
}

TEST_F(AlexNetOnRanks, RefuseGroupsOfNormsThatAreNotThere) {
  nlohmann::json config = config_of(data_, "stream", "response");
  config["training"]["bn_group_samples"] = 16;
  EXPECT_THROW(Trial(world_, config), base::ConfigError);
  config = config_of(data_, "stream");
  config["model"]["width"] = 16;
  EXPECT_THROW(Trial(world_, config), base::ConfigError);
}

}  // namespace
