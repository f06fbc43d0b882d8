// Tests of the regions that transforms draw or compute.
#include "workloads/images/crops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workloads/images/augment_stream.h"

namespace images {
namespace {

bool fits(const Region& crop, int height, int width) {
  return crop.top >= 0 && crop.left >= 0 && crop.height >= 1 && crop.width >= 1 &&
         crop.top + crop.height <= height && crop.left + crop.width <= width;
}

TEST(CentralTargetMlperf, MatchesTheKnownSizesAndOffsets) {
  const auto check = [](int h, int w, int height, int width, int top, int left) {
    const Target target = central_target_mlperf(h, w, 256, 224);
    EXPECT_EQ(target.height, height);
    EXPECT_EQ(target.width, width);
    EXPECT_EQ(target.top, top);
    EXPECT_EQ(target.left, left);
  };
  check(375, 500, 256, 341, 16, 58);
  check(500, 333, 384, 256, 80, 16);
  check(1000, 750, 341, 256, 58, 16);
}

TEST(CentralTargetMlperf, TruncatesSomeShortSidesTo255) {
  int truncated = 0;
  for (int side = 50; side <= 3000; ++side) {
    const Target target = central_target_mlperf(side, 2 * side, 256, 224);
    EXPECT_TRUE(target.height == 256 || target.height == 255);
    truncated += target.height == 255 ? 1 : 0;
  }
  EXPECT_EQ(truncated, 353);
  for (const int side : {55, 61, 82}) {
    EXPECT_EQ(central_target_mlperf(side, 500, 256, 224).height, 255);
  }
}

TEST(CentralTargetMlperf, NeverFallsBelowTheWindow) {
  for (int side = 1; side <= 3000; ++side) {
    const Target target = central_target_mlperf(side, side, 32, 32);
    EXPECT_EQ(target.height, 32);
    EXPECT_EQ(target.top, 0);
  }
}

TEST(CentralTargetTorchvision, RoundsHalfToEvenAsPythonDoes) {
  const Target target = central_target_torchvision(375, 500, 256, 224);
  EXPECT_EQ(target.height, 256);
  EXPECT_EQ(target.width, 341);
  EXPECT_EQ(target.top, 16);
  EXPECT_EQ(target.left, 58);                                      // round(58.5)
  EXPECT_EQ(central_target_torchvision(100, 100, 35, 32).top, 2);  // round(1.5)
}

TEST(DistortedCrop, KeepsAreaAspectAndBounds) {
  const int height = 375, width = 500;
  double least_area = 1.0, most_area = 0.0, mean_area = 0.0;
  const int count = 4000;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto random = stream(i);
    const Region crop = distorted_crop(height, width, random);
    ASSERT_TRUE(fits(crop, height, width));
    const double area = crop.height * crop.width / (375.0 * 500.0);
    // The aspect ratio applies to the width after rounding.
    EXPECT_GE(crop.width, std::floor(crop.height * 0.75));
    EXPECT_LE(crop.width, std::ceil(crop.height * 1.33));
    EXPECT_GE(area, 0.1);  // 0.1 of the image must be covered
    least_area = std::min(least_area, area);
    most_area = std::max(most_area, area);
    mean_area += area / count;
  }
  EXPECT_LT(least_area, 0.12);
  EXPECT_GT(most_area, 0.95);
  EXPECT_NEAR(mean_area, 0.40, 0.05);  // heights, not areas, are uniform
}

TEST(DistortedCrop, TakesTheWholeOfAnImageThatIsTooNarrow) {
  auto random = stream(3);
  const Region crop = distorted_crop(4, 400, random);
  EXPECT_EQ(crop.height, 4);
  EXPECT_EQ(crop.width, 400);
}

TEST(DistortedCrop, AcceptsImagesOfAFewPixels) {
  for (int height = 1; height < 8; ++height) {
    for (int width = 1; width < 8; ++width) {
      auto random = stream(static_cast<std::uint64_t>(height * 8 + width));
      EXPECT_TRUE(fits(distorted_crop(height, width, random), height, width));
    }
  }
}

TEST(RandomResizedCrop, KeepsAreaAspectAndBounds) {
  const int height = 375, width = 500;
  double mean_area = 0.0, mean_log_ratio = 0.0;
  const int count = 4000;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto random = stream(i);
    const Region crop = random_resized_crop(height, width, random);
    ASSERT_TRUE(fits(crop, height, width));
    const double area = crop.height * crop.width / (375.0 * 500.0);
    const double ratio = static_cast<double>(crop.width) / crop.height;
    EXPECT_GT(area, 0.079);
    EXPECT_NEAR(std::log(ratio), 0.0, std::log(4.0 / 3.0) + 0.02);
    mean_area += area / count;
    mean_log_ratio += std::log(ratio) / count;
  }
  // Large and narrow regions do not fit, which shifts the means: draws of torchvision 0.14.1 give
  // 0.4314 and 0.0308 for this size.
  EXPECT_NEAR(mean_area, 0.4314, 0.015);
  EXPECT_NEAR(mean_log_ratio, 0.0308, 0.012);
}

TEST(RandomResizedCrop, FallsBackToTheCentre) {
  auto random = stream(1);
  const Region wide = random_resized_crop(30, 3000, random);
  EXPECT_EQ(wide.height, 30);
  EXPECT_EQ(wide.width, 40);
  EXPECT_EQ(wide.left, 1480);
  const Region tall = random_resized_crop(3000, 30, random);
  EXPECT_EQ(tall.height, 40);
  EXPECT_EQ(tall.top, 1480);
}

}  // namespace
}  // namespace images
