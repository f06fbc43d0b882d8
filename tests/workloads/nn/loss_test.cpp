// Softmax cross entropy against known answers.
#include "workloads/nn/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runner/base/error.h"

namespace {

const std::vector<float> kLogits = {2.0F, 0.0F, -1.0F, 1.0F, 0.5F};
// Gradients are stored in single precision.
constexpr double kSingle = 1e-7;

void expect_gradient(double smoothing, double loss, const std::vector<double>& gradient) {
  const std::vector<std::int32_t> labels = {0};
  std::vector<float> diff(5);
  const nn::LossSums sums = nn::softmax_cross_entropy(kLogits, labels, smoothing, 1.0, diff);
  EXPECT_NEAR(sums.loss, loss, 1e-10);
  EXPECT_EQ(sums.correct, 1);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(static_cast<double>(diff[i]), gradient[i], kSingle);
}

TEST(SoftmaxCrossEntropy, AgreesWithKnownAnswers) {
  expect_gradient(0.0, .5744379396,
                  {-.4369787682, .0761966379, .0280311766, .2071239361, .1256270176});
  expect_gradient(0.1, .7244379396,
                  {-.3569787682, .0561966379, .0080311766, .1871239361, .1056270176});
}

TEST(SoftmaxCrossEntropy, OfUniformLogitsIsTheLogarithmOfTheClasses) {
  const std::vector<float> logits(1000, 3.0F);
  const std::vector<std::int32_t> labels = {17};
  for (const double smoothing : {0.0, 0.1, 0.5}) {
    EXPECT_NEAR(nn::softmax_cross_entropy(logits, labels, smoothing, 1.0, {}).loss,
                6.907755278982137, 1e-10);
  }
}

TEST(SoftmaxCrossEntropy, LeavesEmptyRowsOut) {
  std::vector<float> logits = kLogits;
  logits.insert(logits.end(), kLogits.begin(), kLogits.end());
  const std::vector<std::int32_t> labels = {-1, 3};
  std::vector<float> diff(10, 9.0F);
  const nn::LossSums sums = nn::softmax_cross_entropy(logits, labels, 0.0, 1.0, diff);
  EXPECT_EQ(sums.samples, 1);
  EXPECT_EQ(sums.correct, 0);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(diff[i], 0.0F);
}

TEST(SoftmaxCrossEntropy, SurvivesHugeLogits) {
  const std::vector<float> logits = {3e38F, -3e38F};
  const std::vector<std::int32_t> labels = {0};
  EXPECT_EQ(nn::softmax_cross_entropy(logits, labels, 0.0, 1.0, {}).loss, 0.0);
}

TEST(SoftmaxCrossEntropy, IsNotANumberWhenALogitIsNone) {
  const std::vector<float> logits = {std::nanf(""), 1.0F};
  const std::vector<std::int32_t> labels = {0};
  const nn::LossSums sums = nn::softmax_cross_entropy(logits, labels, 0.0, 1.0, {});
  EXPECT_TRUE(std::isnan(sums.loss));
  EXPECT_EQ(sums.correct, 0);
}

TEST(SoftmaxCrossEntropy, RefusesALabelOutOfRange) {
  for (const std::int32_t label : {-2, 5}) {
    const std::vector<std::int32_t> labels = {label};
    EXPECT_THROW(nn::softmax_cross_entropy(kLogits, labels, 0.0, 1.0, {}), base::DataError)
        << label;
  }
}

}  // namespace
