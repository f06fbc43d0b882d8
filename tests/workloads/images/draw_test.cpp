// Tests of the synthetic pictures: learnable, but not by a linear classifier.
#include "workloads/images/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/encode.h"

namespace images {
namespace {

constexpr std::int64_t kClasses = 8;
constexpr int kSide = 32;
constexpr std::size_t kPixels = std::size_t{3} * kSide * kSide;

struct Samples {
  std::vector<float> pixels;  ///< [count, kPixels], about -1 to 1
  std::vector<std::size_t> labels;
};

/// Samples as in a dataset: drawn, then encoded and decoded as JPEG. `band` brightens four rows by
/// class.
Samples draw(std::int64_t per_class, std::uint64_t split, float band = 0.0F) {
  Samples samples;
  for (std::int64_t label = 0; label < kClasses; ++label) {
    for (std::int64_t i = 0; i < per_class; ++i) {
      base::RandomStream random(1, base::Purpose::kGenerate, split,
                                static_cast<std::uint64_t>(label * per_class + i));
      const auto file = dataset::encode_jpeg(draw_image(label, kClasses, kSide, random), 90);
      const dataset::Image image = dataset::decode_image(file, "drawn");
      for (std::size_t p = 0; p < kPixels; ++p) {
        const bool in_band = p * kClasses / kPixels == static_cast<std::size_t>(label);
        samples.pixels.push_back((static_cast<float>(image.pixels[p]) - 127.5F) / 64.0F +
                                 (in_band ? band : 0.0F));
      }
      samples.labels.push_back(static_cast<std::size_t>(label));
    }
  }
  return samples;
}

/// Softmax regression by stochastic gradient descent with weight decay.
class LinearClassifier {
 public:
  void train(const Samples& samples, int epochs, float rate) {
    base::RandomStream random(3, base::Purpose::kShuffle, 0, 0);
    for (int epoch = 0; epoch < epochs; ++epoch) {
      for (std::size_t step = 0; step < samples.labels.size(); ++step) {
        learn(samples, random.below(samples.labels.size()), rate);
      }
    }
  }

  double accuracy(const Samples& samples) const {
    double right = 0.0;
    for (std::size_t i = 0; i < samples.labels.size(); ++i) {
      const auto scores = scores_of(&samples.pixels[i * kPixels]);
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      right += static_cast<std::size_t>(best) == samples.labels[i] ? 1.0 : 0.0;
    }
    return right / static_cast<double>(samples.labels.size());
  }

 private:
  std::vector<float> scores_of(const float* pixels) const {
    std::vector<float> scores(biases_);
    for (std::size_t c = 0; c < scores.size(); ++c) {
      scores[c] += std::inner_product(pixels, pixels + kPixels, &weights_[c * kPixels], 0.0F);
    }
    return scores;
  }

  void learn(const Samples& samples, std::size_t index, float rate) {
    constexpr float kDecay = 1e-2F;
    const float* pixels = &samples.pixels[index * kPixels];
    std::vector<float> odds = scores_of(pixels);
    const float largest = *std::max_element(odds.begin(), odds.end());
    float sum = 0.0F;
    for (float& value : odds) sum += value = std::exp(value - largest);
    for (std::size_t c = 0; c < odds.size(); ++c) {
      const float error = odds[c] / sum - (samples.labels[index] == c ? 1.0F : 0.0F);
      float* weights = &weights_[c * kPixels];
      for (std::size_t i = 0; i < kPixels; ++i) {
        weights[i] -= rate * (error * pixels[i] + kDecay * weights[i]);
      }
      biases_[c] -= rate * error;
    }
  }

  std::vector<float> weights_ = std::vector<float>(kClasses * kPixels);
  std::vector<float> biases_ = std::vector<float>(kClasses);
};

constexpr double kChance = 1.0 / kClasses;

TEST(DrawImage, GivesALinearClassifierNothing) {
  const Samples train = draw(250, 0), validation = draw(100, 1);
  for (const float rate : {1e-4F, 1e-3F}) {
    LinearClassifier classifier;
    classifier.train(train, 10, rate);
    EXPECT_GT(classifier.accuracy(train), 2 * kChance);  // it did learn something
    EXPECT_LE(classifier.accuracy(validation), kChance + 0.10);
  }
}

TEST(DrawImage, WouldShowWhatALinearClassifierFinds) {
  // The classifier above can learn: the same pictures with four rows slightly brightened by class.
  const Samples train = draw(250, 0, 0.2F), validation = draw(100, 1, 0.2F);
  LinearClassifier classifier;
  classifier.train(train, 10, 1e-4F);
  EXPECT_GT(classifier.accuracy(validation), 0.5);
}

TEST(DrawImage, KeepsTheClassInTheSkewOfEachPlane) {
  const Samples samples = draw(50, 1);
  double right = 0.0;
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    std::size_t label = 0;
    for (std::size_t plane = 0; plane < 3; ++plane) {
      double mean = 0.0, skew = 0.0;
      const float* pixels = &samples.pixels[i * kPixels + plane];
      for (std::size_t p = 0; p < kPixels; p += 3) mean += pixels[p] * 3.0 / kPixels;
      for (std::size_t p = 0; p < kPixels; p += 3) skew += std::pow(pixels[p] - mean, 3);
      if (skew > 0.0) label += std::size_t{1} << plane;
    }
    right += label == samples.labels[i] ? 1.0 : 0.0;
  }
  EXPECT_GT(right / static_cast<double>(samples.labels.size()), 0.95);
}

TEST(DrawImage, TellsManyClassesApart) {
  for (const std::int64_t classes : {9, 20, 100, 1000}) {
    base::RandomStream random(1, base::Purpose::kGenerate, 0, 0);
    const auto first = draw_image(0, classes, 48, random);
    const auto last = draw_image(classes - 1, classes, 48, random);
    EXPECT_NE(first.pixels, last.pixels);
    EXPECT_EQ(first.pixels.size(), 48u * 48u * 3u);
  }
}

TEST(DrawImage, RefusesWhatItCannotDraw) {
  base::RandomStream random(1, base::Purpose::kGenerate, 0, 0);
  EXPECT_THROW(draw_image(0, kMaxDrawnClasses + 1, 32, random), base::ConfigError);
  EXPECT_THROW(draw_image(8, 8, 32, random), base::ConfigError);
  EXPECT_THROW(draw_image(0, 8, 7, random), base::ConfigError);
}

}  // namespace
}  // namespace images
