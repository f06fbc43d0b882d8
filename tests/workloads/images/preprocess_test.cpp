// Tests of the input transforms: values, randomness, bounds.
#include "workloads/images/preprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runner/base/error.h"
#include "workloads/images/augment_stream.h"

namespace images {
namespace {

dataset::Image constant_image(int height, int width, std::uint8_t red, std::uint8_t green,
                              std::uint8_t blue) {
  dataset::Image image{height, width, {}};
  for (int i = 0; i < height * width; ++i) {
    image.pixels.insert(image.pixels.end(), {red, green, blue});
  }
  return image;
}

/// No two pixels are equal in all channels, and none is black.
dataset::Image cut(const dataset::Image& image, const Region& region) {
  dataset::Image part{region.height, region.width, {}};
  for (int y = region.top; y < region.top + region.height; ++y) {
    const auto from = image.pixels.begin() + 3 * (y * image.width + region.left);
    part.pixels.insert(part.pixels.end(), from, from + 3 * region.width);
  }
  return part;
}

/// An augmented view of a whole image.
void train(const Preprocess& preprocess, const dataset::Image& image, base::RandomStream& random,
           std::span<float> out) {
  const dataset::View view = preprocess.draw_view(image.height, image.width, random);
  EXPECT_EQ(view.shrink, 1);
  preprocess.train(cut(image, view.region), random, out);
}

dataset::Image unique_image(int side) {
  dataset::Image image{side, side, {}};
  for (int i = 0; i < side * side; ++i) {
    image.pixels.insert(image.pixels.end(), {std::uint8_t(1 + i % 255), std::uint8_t(1 + i / 255),
                                             std::uint8_t(i * 7 % 256)});
  }
  return image;
}

TEST(Preprocess, SubtractsTheMlperfMeansAndDividesByNothing) {
  const Preprocess preprocess(Style::kMlperf, 16);
  std::vector<float> out(3 * 256);
  preprocess.evaluate(constant_image(40, 30, 200, 100, 50), out);
  EXPECT_NEAR(out[0], 200 - 123.68, 1e-4);
  EXPECT_NEAR(out[256], 100 - 116.78, 1e-4);
  EXPECT_NEAR(out[2 * 256 + 255], 50 - 103.94, 1e-4);
  auto random = stream(0);
  train(preprocess, constant_image(40, 30, 200, 100, 50), random, out);
  EXPECT_NEAR(out[100], 200 - 123.68, 1e-4);
}

TEST(Preprocess, NormalizesAsTorchvision) {
  const Preprocess preprocess(Style::kTorchvision, 16);
  std::vector<float> out(3 * 256);
  preprocess.evaluate(constant_image(40, 30, 200, 100, 50), out);
  EXPECT_NEAR(out[0], (200 / 255.0 - 0.485) / 0.229, 1e-5);
  EXPECT_NEAR(out[256], (100 / 255.0 - 0.456) / 0.224, 1e-5);
  EXPECT_NEAR(out[512], (50 / 255.0 - 0.406) / 0.225, 1e-5);
}

TEST(Preprocess, ChoosesTheReferencesResizeUnlessTold) {
  EXPECT_EQ(Preprocess(Style::kMlperf, 224).evaluation_resize(), 256);
  EXPECT_EQ(Preprocess(Style::kTorchvision, 32).evaluation_resize(), 37);
  EXPECT_EQ(Preprocess(Style::kMlperf, 32, 32).evaluation_resize(), 32);
  EXPECT_EQ(Preprocess(Style::kCifar, 32).evaluation_resize(), 32);
  EXPECT_THROW(Preprocess(Style::kMlperf, 32, 31), base::ConfigError);
  EXPECT_THROW(Preprocess(Style::kMlperf, 0), base::ConfigError);
}

TEST(Preprocess, ShrinksCropsThatStayLargeEnoughWhereTold) {
  constexpr int kSize = 16, kDraws = 1000;
  std::set<int> factors;
  for (const Style style : {Style::kMlperf, Style::kTorchvision}) {
    const Preprocess exact(style, kSize), scaled(style, kSize, 0, kUsualShift, true);
    for (int draw = 0; draw < kDraws; ++draw) {
      auto random = stream(draw), again = stream(draw);
      const int height = draw % 2 == 0 ? 70 : 180;
      const dataset::View view = scaled.draw_view(height, 190, random);
      EXPECT_EQ(view.region, exact.draw_view(height, 190, again).region);
      EXPECT_EQ(random.uniform(), again.uniform());
      const int side = std::min(view.region.height, view.region.width);
      const int largest = side >= 8 * kSize ? 8 : side >= 4 * kSize ? 4 : side >= 2 * kSize ? 2 : 1;
      EXPECT_EQ(view.shrink, largest);
      factors.insert(view.shrink);
    }
  }
  EXPECT_EQ(factors, (std::set{1, 2, 4, 8}));
}

TEST(Preprocess, EvaluatesAnImageOfTheRightSizeUnchanged) {
  const dataset::Image image = unique_image(20);
  for (const Style style : {Style::kMlperf, Style::kTorchvision, Style::kCifar}) {
    const Preprocess preprocess(style, 20, 20);
    std::vector<float> out(3 * 400), black(3 * 400), one(3 * 400);
    preprocess.evaluate(constant_image(20, 20, 0, 0, 0), black);
    preprocess.evaluate(constant_image(20, 20, 1, 1, 1), one);
    preprocess.evaluate(image, out);
    for (std::size_t i = 0; i < 400; ++i) {
      const float pixel = (out[i] - black[i]) / (one[i] - black[i]);
      EXPECT_NEAR(pixel, image.pixels[3 * i], 1e-2F);
    }
  }
}

TEST(Preprocess, CutsTheCentreForEvaluation) {
  // The shorter side is already 8, so the resize changes nothing and the centre is columns 4 to 11.
  dataset::Image image{8, 16, std::vector<std::uint8_t>(8 * 16 * 3)};
  for (int i = 0; i < 8 * 16; ++i) {
    for (int c = 0; c < 3; ++c) image.pixels[static_cast<std::size_t>(i * 3 + c)] = std::uint8_t(i);
  }
  std::vector<float> out(3 * 64);
  Preprocess(Style::kMlperf, 8, 8).evaluate(image, out);
  EXPECT_NEAR(out[0], 4 - 123.68, 1e-4);
  EXPECT_NEAR(out[63], 7 * 16 + 11 - 123.68, 1e-4);
}

TEST(Preprocess, IsAFunctionOfTheStreamAlone) {
  const dataset::Image image = unique_image(40);
  for (const Style style : {Style::kMlperf, Style::kTorchvision, Style::kCifar}) {
    const Preprocess preprocess(style, 32);
    std::set<std::vector<float>> views;
    for (std::uint64_t index = 0; index < 20; ++index) {
      std::vector<float> first(3 * 1024), second(3 * 1024);
      auto random = stream(index), same = stream(index);
      train(preprocess, image, random, first);
      train(preprocess, image, same, second);
      EXPECT_EQ(first, second);
      views.insert(first);
    }
    EXPECT_GT(views.size(), 15u);
  }
}

TEST(Preprocess, ShiftsSmallImagesByUpToFourPixelsOverBlack) {
  const dataset::Image image = unique_image(32);
  const Preprocess preprocess(Style::kCifar, 32);
  std::vector<float> plain(3 * 1024), black(3 * 1024), out(3 * 1024);
  preprocess.evaluate(image, plain);
  preprocess.evaluate(constant_image(32, 32, 0, 0, 0), black);
  std::set<std::tuple<int, int, bool>> seen;
  for (std::uint64_t index = 0; index < 1500; ++index) {
    auto random = stream(index);
    train(preprocess, image, random, out);
    // Pixel (16, 16) is inside for every shift; find the pixel that it came from.
    for (int y = 12; y <= 20; ++y) {
      for (int x = 11; x <= 20; ++x) {
        const auto from = static_cast<std::size_t>(y * 32 + x);
        bool equal = true;
        for (std::size_t c = 0; c < 3; ++c) {
          equal = equal && out[c * 1024 + 16 * 32 + 16] == plain[c * 1024 + from];
        }
        if (!equal) continue;
        const bool mirrored = out[16 * 32 + 17] == plain[from - 1];
        seen.emplace(y - 16, mirrored ? x - 15 : x - 16, mirrored);
        if (y > 16) {
          EXPECT_EQ(out[31 * 32 + 16], black[0]);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 162u);  // 9 x 9 shifts, mirrored or not
  EXPECT_EQ(std::get<0>(*seen.begin()), -4);
  EXPECT_EQ(std::get<0>(*seen.rbegin()), 4);
}

/// Of a 20 x 20 image crops of 16: each of 25 places, mirrored or not.
TEST(Preprocess, CropsCaffesSquareAnywhere) {
  const dataset::Image image = unique_image(20);
  const Preprocess whole(Style::kCaffe, 20, 20), crops(Style::kCaffe, 16, 20);
  EXPECT_EQ(Preprocess(Style::kCaffe, 227).evaluation_resize(), 256);
  std::vector<float> all(3 * 400), out(3 * 256), center(3 * 256);
  whole.evaluate(image, all);
  EXPECT_NEAR(all[0], image.pixels[0] - 122.67891, 1e-4);
  EXPECT_NEAR(all[400], image.pixels[1] - 116.66877, 1e-4);
  EXPECT_NEAR(all[800], image.pixels[2] - 104.00699, 1e-4);
  std::set<std::tuple<int, int, bool>> seen;
  for (std::uint64_t index = 0; index < 600; ++index) {
    auto random = stream(index);
    train(crops, image, random, out);
    for (int place = 0; place < 50; ++place) {
      const int top = place / 10, left = place / 2 % 5;
      const bool mirrored = place % 2 == 1;
      bool equal = true;
      for (int i = 0; i < 256 && equal; ++i) {
        const int column = mirrored ? 15 - i % 16 : i % 16;
        equal = out[static_cast<std::size_t>(i)] ==
                all[static_cast<std::size_t>((top + i / 16) * 20 + left + column)];
      }
      if (equal) seen.emplace(top, left, mirrored);
    }
  }
  EXPECT_EQ(seen.size(), 50U);
  crops.evaluate(image, center);
  EXPECT_EQ(center[0], all[2 * 20 + 2]);
}

TEST(Preprocess, StretchesAndScalesAsCaffesNetworksWithBatchNorms) {
  // A tall image of two halves becomes a square of two halves.
  dataset::Image image{40, 10, {}};
  for (int i = 0; i < 400; ++i) image.pixels.insert(image.pixels.end(), 3, i < 200 ? 10 : 250);
  std::vector<float> out(3 * 100);
  Preprocess(Style::kCaffeScaled, 10, 10).evaluate(image, out);
  EXPECT_NEAR(out[0], (10 - 122.67891) / 256, 1e-5);
  EXPECT_NEAR(out[99], (250 - 122.67891) / 256, 1e-5);
}

TEST(Preprocess, ShiftsNoFurtherThanAsked) {
  const dataset::Image image = unique_image(32);
  const Preprocess still(Style::kCifar, 32, 0, 0);
  std::vector<float> plain(3 * 1024), mirror(3 * 1024), out(3 * 1024);
  still.evaluate(image, plain);
  for (std::size_t i = 0; i < mirror.size(); ++i) mirror[i] = plain[i / 32 * 32 + 31 - i % 32];
  int mirrored = 0;
  for (std::uint64_t index = 0; index < 100; ++index) {
    auto random = stream(index);
    train(still, image, random, out);
    ASSERT_TRUE(out == plain || out == mirror) << index;
    mirrored += out == mirror ? 1 : 0;
  }
  EXPECT_GT(mirrored, 25);
  EXPECT_LT(mirrored, 75);
  EXPECT_THROW(Preprocess(Style::kCifar, 32, 0, 33), base::ConfigError);
}

TEST(Preprocess, MirrorsHalfOfTheViews) {
  // Left half dark, right half bright: the outer columns reveal mirroring.
  dataset::Image image{32, 32, {}};
  for (int i = 0; i < 1024; ++i) image.pixels.insert(image.pixels.end(), 3, i % 32 < 16 ? 10 : 240);
  for (const Style style : {Style::kMlperf, Style::kTorchvision, Style::kCifar}) {
    const Preprocess preprocess(style, 32);
    std::vector<float> out(3 * 1024);
    int mirrored = 0, told = 0;
    for (std::uint64_t index = 0; index < 2000; ++index) {
      auto random = stream(index);
      train(preprocess, image, random, out);
      const float left = out[16 * 32 + 6], right = out[16 * 32 + 25];
      if (left == right) continue;
      ++told;
      mirrored += left > right ? 1 : 0;
    }
    EXPECT_GT(told, 1000);
    EXPECT_NEAR(static_cast<double>(mirrored) / told, 0.5, 0.05);
  }
}

TEST(Preprocess, RefusesAnOutputOfAnotherSize) {
  std::vector<float> out(100);
  EXPECT_THROW(Preprocess(Style::kMlperf, 32).evaluate(unique_image(32), out), base::ShapeError);
}

}  // namespace
}  // namespace images
