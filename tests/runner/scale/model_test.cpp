// Tests of predicted times, and of the counts of the LARS paper.
#include "runner/scale/model.h"

#include <gtest/gtest.h>

namespace scale {
namespace {

constexpr std::int64_t kImages = 1'280'000, kEpochs = 100;

TEST(PaperCounts, HaveTheIterationsOfThePaper) {
  const auto iterations = [](std::int64_t batch) {
    return paper_counts(1, kImages, kEpochs, batch, 1).iterations;
  };
  EXPECT_EQ(iterations(512), 250'000);
  EXPECT_EQ(iterations(4096), 31'250);
  EXPECT_EQ(iterations(32768), 3'906);
}

TEST(PaperCounts, GrowAsThePaperSays) {
  const PaperCounts one = paper_counts(1000, kImages, kEpochs, 512, 8);
  EXPECT_EQ(one.messages, 3 * 250'000.0);
  EXPECT_EQ(one.bytes, 4000 * 250'000.0);
  EXPECT_EQ(paper_counts(1000, kImages, kEpochs, 512, 64).messages, 6 * 250'000.0);
  EXPECT_EQ(paper_counts(1000, kImages, kEpochs, 512, 1).messages, 0);
}

/// A step of 100 samples on a rank; a node sends 1000 bytes in 20 messages.
runner::TrainingScale two_nodes() {
  runner::TrainingScale scale;
  scale.rank_samples = 100;
  scale.nodes = 2;
  scale.gradients = {{500, 10}, {1000, 20}, {2000, 40}, 2};
  scale.hiding_share = 0.5;
  return scale;
}
const ComputeRate kRate = {50, "test", 0, ""};  // 2 s a step

TEST(Prediction, NeedsRates) {
  EXPECT_FALSE(predict(two_nodes(), {}));
  EXPECT_FALSE(predict(two_nodes(), {{}, Link{100, 0.1, ""}}));
  const auto without_link = predict(two_nodes(), {kRate, {}});
  ASSERT_TRUE(without_link);
  EXPECT_EQ(without_link->compute_s, 2);
  EXPECT_FALSE(without_link->exchange_least_s);
  EXPECT_FALSE(without_link->step_least_s);
  EXPECT_FALSE(without_link->step_most_s);
}

TEST(Prediction, BoundsAStep) {
  const auto time = predict(two_nodes(), {kRate, Link{100, 0.1, ""}});
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(*time->exchange_least_s, 10 + 2 * 0.1);
  EXPECT_DOUBLE_EQ(*time->exchange_most_s, 10 + 20 * 0.1);
  EXPECT_DOUBLE_EQ(*time->step_least_s, 2 + 10.2 - 1);
  EXPECT_DOUBLE_EQ(*time->step_most_s, 2 + 12);
}

TEST(Prediction, HidesNoMoreThanThereIs) {
  const auto time = predict(two_nodes(), {kRate, Link{1e6, 1e-6, ""}});
  ASSERT_TRUE(time);
  EXPECT_EQ(*time->step_least_s, 2);
  EXPECT_GT(*time->step_most_s, 2);
}

TEST(Prediction, OfOneNodeNeedsNoLink) {
  runner::TrainingScale one = two_nodes();
  one.nodes = 1;
  one.gradients = {};
  const auto time = predict(one, {kRate, {}});
  ASSERT_TRUE(time && time->step_least_s && time->step_most_s);
  EXPECT_EQ(*time->step_least_s, 2);
  EXPECT_EQ(*time->step_most_s, 2);
}

}  // namespace
}  // namespace scale
