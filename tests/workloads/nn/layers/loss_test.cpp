// Losses against known answers and a plain twin, which takes the logarithms of probabilities as the
// reference does.
#include "workloads/nn/layers/loss.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A sigmoid, then the logarithms bounded from below.
double twin(double logit, double label) {
  const long double yes = 1.0L / (1.0L + std::exp(-static_cast<long double>(logit)));
  const long double no = 1.0L / (1.0L + std::exp(static_cast<long double>(logit)));
  const long double y = label;
  return static_cast<double>(-y * std::max(std::log(yes), -100.0L) -
                             (1 - y) * std::max(std::log(no), -100.0L));
}

nn::LossSums loss_of_one(float logit, float label, float* diff = nullptr, double scale = 1.0) {
  const std::span<float> diffs = diff == nullptr ? std::span<float>() : std::span(diff, 1);
  return nn::binary_cross_entropy({&logit, 1}, {&label, 1}, scale, diffs);
}

TEST(BinaryCrossEntropy, AgreesWithAKnownAnswer) {
  const std::vector<float> logits = {.169802136F, .133069112F}, labels = {1.0F, 0.0F};
  std::vector<float> diff(2);
  const nn::LossSums sums = nn::binary_cross_entropy(logits, labels, 0.5, diff);
  // The logits are rounded to single precision.
  EXPECT_NEAR(sums.loss / 2.0, .6868697077, 1e-8);
  EXPECT_EQ(sums.samples, 2);
  EXPECT_EQ(sums.correct, 1);
  EXPECT_NEAR(diff[0], 0.5 * (1.0 / (1.0 + std::exp(-.169802136)) - 1.0), kSingle);
  EXPECT_NEAR(diff[1], 0.5 / (1.0 + std::exp(-.133069112)), kSingle);
}

TEST(BinaryCrossEntropy, AgreesWithItsTwinAndTheTwinsSlope) {
  for (const float label : {0.0F, 1.0F}) {
    for (const float logit : {-99.0F, -30.0F, -3.5F, -1e-3F, 0.0F, 0.25F, 5.0F, 17.5F, 99.0F}) {
      SCOPED_TRACE(testing::Message() << logit << " for " << label);
      float diff = 9.0F;
      const double loss = loss_of_one(logit, label, &diff, 2.0).loss;
      const double expected = twin(logit, label);
      // 1 + e^x loses digits beyond the 19 of the twin's long double.
      EXPECT_NEAR(loss, expected, 1e-14 * expected + 1e-18);
      constexpr double kStep = 1e-5;
      const double slope =
          (twin(logit + kStep, label) - twin(logit - kStep, label)) / (2.0 * kStep);
      // A difference of losses near 100 keeps nine digits.
      EXPECT_NEAR(diff, 2.0 * slope, 2.0 * (kSingle + 1e-8));
    }
  }
}

TEST(BinaryCrossEntropy, KeepsThePrecisionOfSmallLosses) {
  float diff = 0.0F;
  EXPECT_NEAR(loss_of_one(-40.0F, 0.0F, &diff).loss, std::exp(-40.0), 1e-15 * std::exp(-40.0));
  EXPECT_NEAR(diff, std::exp(-40.0), kSingle * std::exp(-40.0));
}

TEST(BinaryCrossEntropy, IsBoundAsTheReferencesLogarithmsAre) {
  for (const float logit : {100.5F, 1e4F, 3e38F, kInfinity}) {
    float diff = 9.0F;
    EXPECT_EQ(loss_of_one(logit, 0.0F, &diff).loss, 100.0) << logit;
    EXPECT_EQ(twin(logit, 0.0), 100.0) << logit;
    EXPECT_EQ(diff, 0.0F) << logit;
    EXPECT_EQ(loss_of_one(-logit, 1.0F, &diff).loss, 100.0) << logit;
    EXPECT_EQ(loss_of_one(logit, 1.0F, &diff).loss, std::exp(-double{logit})) << logit;
  }
}

TEST(BinaryCrossEntropy, CountsALogitOnTheRightSide) {
  EXPECT_EQ(loss_of_one(0.1F, 1.0F).correct, 1);
  EXPECT_EQ(loss_of_one(0.1F, 0.0F).correct, 0);
  EXPECT_EQ(loss_of_one(-0.1F, 0.0F).correct, 1);
  EXPECT_EQ(loss_of_one(0.0F, 0.0F).correct, 1);
  EXPECT_EQ(loss_of_one(0.0F, 1.0F).correct, 0);
}

TEST(BinaryCrossEntropy, IsNotANumberWhenALogitIsNone) {
  float diff = 0.0F;
  const nn::LossSums sums = loss_of_one(std::nanf(""), 0.0F, &diff);
  EXPECT_TRUE(std::isnan(sums.loss));
  EXPECT_TRUE(std::isnan(diff));
  EXPECT_EQ(sums.correct, 0);
}

TEST(BinaryCrossEntropy, LeavesEmptyRowsOut) {
  const std::vector<float> logits = {3.0F, std::nanf(""), -1.0F}, labels = {1.0F, -1.0F, -1.0F};
  std::vector<float> diff(3, 9.0F);
  const nn::LossSums sums = nn::binary_cross_entropy(logits, labels, 1.0, diff);
  EXPECT_EQ(sums.samples, 1);
  EXPECT_EQ(sums.loss, loss_of_one(3.0F, 1.0F).loss);
  EXPECT_EQ(diff[1], 0.0F);
  EXPECT_EQ(diff[2], 0.0F);
  EXPECT_EQ(nn::binary_cross_entropy({}, {}, 1.0, {}).samples, 0);
}

TEST(BinaryCrossEntropy, GivesTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::size_t kRows = 10007;
  std::vector<float> logits(kRows), labels(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    logits[i] = static_cast<float>(5.0 * std::sin(0.37 * static_cast<double>(i)));
    labels[i] = i % 3 == 0 ? 1.0F : i % 3 == 1 ? 0.0F : -1.0F;
  }
  double expected = 0.0;
  for (std::size_t i = 0; i < kRows; ++i) {
    if (labels[i] >= 0.0F) expected += twin(logits[i], labels[i]);
  }
  const int before = omp_get_max_threads();
  std::vector<float> first;
  double loss = 0.0;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    std::vector<float> diff(kRows);
    const nn::LossSums sums = nn::binary_cross_entropy(logits, labels, 1.0, diff);
    if (first.empty()) {
      first = diff;
      loss = sums.loss;
    }
    EXPECT_EQ(sums.loss, loss);
    EXPECT_EQ(diff, first);
    EXPECT_NEAR(sums.loss, expected, 1e-12 * expected);
    EXPECT_EQ(sums.samples, 6672);
  }
  omp_set_num_threads(before);
}

TEST(BinaryCrossEntropy, RefusesOtherLabelsAndLengths) {
  for (const float label : {0.5F, 2.0F, -2.0F, std::nanf("")}) {
    EXPECT_THROW(loss_of_one(0.0F, label), base::DataError) << label;
  }
  const std::vector<float> two(2), three(3);
  EXPECT_THROW(nn::binary_cross_entropy(two, three, 1.0, {}), base::ShapeError);
  std::vector<float> gradients(1);
  EXPECT_THROW(nn::binary_cross_entropy(two, two, 1.0, gradients), base::ShapeError);
}

TEST(SquaredError, SumsErrorsAndLeavesRowsWithoutSampleAlone) {
  const std::vector<float> outputs = {1.0F, 2.0F, 3.0F, 4.0F}, targets = {0.5F, 3.0F};
  std::vector<float> gradient(4, 7.0F);
  const nn::ErrorSums sums = nn::squared_error(outputs, targets, 2, 0.25, gradient);
  EXPECT_DOUBLE_EQ(sums.squared, 0.25 + 1.0);
  EXPECT_DOUBLE_EQ(sums.absolute, 1.5);
  EXPECT_EQ(sums.values, 2);
  EXPECT_EQ(gradient, (std::vector<float>{0.25F, -0.5F, 0.0F, 0.0F}));
  EXPECT_THROW(nn::squared_error(outputs, std::vector<float>(3), 2, 1.0, {}), base::ShapeError);
  EXPECT_THROW(nn::squared_error(outputs, std::vector<float>(6), 2, 1.0, {}), base::ShapeError);
}

}  // namespace
