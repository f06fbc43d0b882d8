// Cross entropy of pixels and intersections over unions, by hand and against differences.
#include "workloads/nn/layers/segmentation_loss.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "runner/base/error.h"
#include "runner/base/random.h"

namespace {

using Labels = std::vector<std::uint8_t>;
constexpr std::size_t kClasses = 3;
const std::vector<double> kWeights = {1.0, 2.5, 1.5};

std::vector<float> random_logits(std::size_t points) {
  base::RandomStream random(5, base::Purpose::kGenerate, 0, 0);
  std::vector<float> logits(kClasses * points);
  for (float& logit : logits) logit = static_cast<float>(random.normal());
  return logits;
}

TEST(PointLoss, IsTheWeightedLogarithm) {
  // Two pixels: one of class 0 with equal logits, one of class 1, predicted right.
  const std::vector<float> logits = {0, 0, 0, 4, 0, 0};
  std::vector<float> diff(logits.size());
  const nn::PointLoss loss = nn::weighted_cross_entropy(logits, Labels{0, 1}, kWeights, 0.5, diff);
  const double second = std::log(2.0 + std::exp(4.0)) - 4.0;
  EXPECT_NEAR(loss.loss, std::log(3.0) + 2.5 * second, 1e-12);
  EXPECT_NEAR(static_cast<double>(diff[0]), 0.5 * (1.0 / 3.0 - 1.0), 1e-7);
  EXPECT_NEAR(static_cast<double>(diff[2]), 0.5 / 3.0, 1e-7);
  EXPECT_NEAR(static_cast<double>(diff[3]), 0.5 * 2.5 * (std::exp(-second) - 1.0), 1e-7);
}

TEST(PointLoss, HasTheGradientOfItsDifferences) {
  constexpr std::size_t kPoints = 7;
  const Labels labels = {0, 1, 2, 2, 1, 0, 0};
  std::vector<float> logits = random_logits(kPoints), diff(logits.size());
  nn::weighted_cross_entropy(logits, labels, kWeights, 1.0, diff);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    constexpr float kStep = 1.0F / 256;
    const float middle = logits[i];
    logits[i] = middle + kStep;
    const double above = nn::weighted_cross_entropy(logits, labels, kWeights, 0.0, {}).loss;
    logits[i] = middle - kStep;
    const double below = nn::weighted_cross_entropy(logits, labels, kWeights, 0.0, {}).loss;
    logits[i] = middle;
    EXPECT_NEAR(static_cast<double>(diff[i]), (above - below) * 128.0, 1e-4);
  }
}

TEST(PointLoss, CountsIntersectionsAndUnions) {
  // Predicted: 0 0 1 1; labelled: 0 1 1 1. No pixel is labelled or predicted as class 2.
  const std::vector<float> logits = {1, 1, 0, 0, 0, 0, 1, 1, -9, -9, -9, -9};
  const nn::PointLoss loss =
      nn::weighted_cross_entropy(logits, Labels{0, 1, 1, 1}, kWeights, 0.0, {});
  EXPECT_EQ(loss.classes[0].both, 1);
  EXPECT_EQ(loss.classes[0].found, 2);
  EXPECT_EQ(loss.classes[1].there, 3);
  EXPECT_NEAR(loss.mean_iou(), (1.0 / 2.0 + 2.0 / 3.0 + 1.0) / 3.0, 1e-15);
}

/// The IoU is of the summed counts, not the mean of both IoUs.
TEST(PointLoss, CountsImagesTogether) {
  const std::vector<float> first = {1, 1, 0, 0, 0, 0, 1, 1, -9, -9, -9, -9};
  const std::vector<float> second = {0, 0, 1};
  nn::PointLoss loss = nn::weighted_cross_entropy(first, Labels{0, 1, 1, 1}, kWeights, 0.0, {});
  const double before = loss.loss;
  const nn::PointLoss other = nn::weighted_cross_entropy(second, Labels{1}, kWeights, 0.0, {});
  loss += other;
  EXPECT_DOUBLE_EQ(loss.loss, before + other.loss);
  EXPECT_NEAR(loss.mean_iou(), (1.0 / 2.0 + 2.0 / 4.0 + 0.0) / 3.0, 1e-15);
  EXPECT_EQ(nn::found_class(second, kClasses, 0), 2U);
}

TEST(PointLoss, TakesTheFirstOfEquals) {
  const nn::PointLoss loss =
      nn::weighted_cross_entropy(std::vector<float>{1, 1, 1}, Labels{1}, kWeights, 0.0, {});
  EXPECT_EQ(loss.classes[0].found, 1);
}

TEST(PointLoss, StaysNoNumberWhereALogitIsNone) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const nn::PointLoss loss =
      nn::weighted_cross_entropy(std::vector<float>{0, none, 0}, Labels{0}, kWeights, 0.0, {});
  EXPECT_TRUE(std::isnan(loss.loss));
}

TEST(PointLoss, HasTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::size_t kPoints = 20'000;
  const std::vector<float> logits = random_logits(kPoints);
  Labels labels(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) labels[i] = static_cast<std::uint8_t>(i % kClasses);
  const int before = omp_get_max_threads();
  std::vector<double> losses;
  for (const int threads : {1, 2, 5}) {
    omp_set_num_threads(threads);
    losses.push_back(nn::weighted_cross_entropy(logits, labels, kWeights, 0.0, {}).loss);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
}

TEST(PointLoss, RefusesWhatDoesNotMatch) {
  std::vector<float> logits(6), diff(3);
  EXPECT_THROW(nn::weighted_cross_entropy(logits, Labels{0}, kWeights, 1.0, {}), base::ShapeError);
  EXPECT_THROW(nn::weighted_cross_entropy(logits, Labels{0, 1}, kWeights, 1.0, diff),
               base::ShapeError);
  EXPECT_THROW(nn::weighted_cross_entropy(logits, Labels{0, 3}, kWeights, 1.0, {}),
               base::DataError);
}

}  // namespace
