// Compares two runs of the program with one seed bytewise, and one with another seed.
#include <gmock/gmock.h>

#include "runner/generated_run.h"

namespace {

using nlohmann::json;

/// The results of a run, without its measurements.
struct Result {
  std::string weights;            ///< the bytes of the weights file
  std::vector<json> evaluations;  ///< value and epoch of eval_accuracy and train_loss, in order
};

class SameBits : public outside::GeneratedRun {
 protected:
  SameBits()
      : GeneratedRun("resnet50", "--classes 3 --train-per-class 24 --validation-per-class 7") {}

  json config() const override {
    json config = usual_config();
    config["target"] = {{"quality", 1.0}};
    config["evaluation"] = {{"every_epochs", 1}};
    config["dataset"]["preprocess"] = "cifar";
    config["model"] = {{"image_size", 32}, {"classes", 3}, {"depth", 26}, {"width", 16}};
    // Of the three batch-norm groups, the middle one spans both ranks.
    config["training"] = {
        {"global_batch_size", 24}, {"bn_group_samples", 8}, {"label_smoothing", 0.1}};
    config["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}, {"weight_decay", 0.0005}};
    config["schedule"] = {{"learning_rate", 0.05}};
    return config;
  }

  /// Runs the program and returns its result.
  Result run_on_two_ranks(int seed) {
    const outside::Ended ended = run([&](json& c) { c["seed"] = seed; }, outside::mpirun(2));
    const outside::fs::path weights = result(std::to_string(++runs_) + ".weights.h5");
    EXPECT_TRUE(outside::fs::exists(weights)) << ended.status << ": " << ended.err;
    Result found = {outside::content(weights), {}};
    for (const json& record : records(runs_)) {
      const std::string key = record["key"];
      if (key != "eval_accuracy" && key != "train_loss") continue;
      found.evaluations.push_back({key, record["value"], record["metadata"]["epoch_num"]});
    }
    return found;
  }

 private:
  int runs_ = 0;
};

TEST_F(SameBits, ComeOutOfTwoRunsWithOneSeed) {
  const Result first = run_on_two_ranks(7);
  ASSERT_EQ(first.evaluations.size(), 4U);  // two epochs, loss and accuracy of each
  const Result again = run_on_two_ranks(7);
  EXPECT_TRUE(first.weights == again.weights) << "the weights files differ";
  EXPECT_EQ(first.evaluations, again.evaluations);
  const Result other = run_on_two_ranks(8);
  EXPECT_EQ(other.weights.size(), first.weights.size());
  EXPECT_FALSE(first.weights == other.weights) << "the seed has no effect";
  EXPECT_NE(first.evaluations, other.evaluations);
}

}  // namespace
