// Tests of the two resizing methods against known answers.
#include "workloads/images/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace images {
namespace {

dataset::Image row_image(const std::vector<int>& values) {
  dataset::Image image{1, static_cast<int>(values.size()), {}};
  for (const int value : values) image.pixels.insert(image.pixels.end(), 3, std::uint8_t(value));
  return image;
}

/// Pixels (37 y + 59 x + 101 c + 13 x y) mod 256.
dataset::Image pattern_image(int height, int width) {
  dataset::Image image{height, width, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.pixels.push_back(std::uint8_t((37 * y + 59 * x + 101 * c + 13 * x * y) % 256));
      }
    }
  }
  return image;
}

std::vector<float> first_row(const std::vector<float>& out, int size) {
  return {out.begin(), out.begin() + size};
}

TEST(LegacyResize, MatchesTheKnownRowsOfTensorFlow) {
  const dataset::Image image = row_image({0, 10, 20, 30});
  std::vector<float> out(27);
  resize_legacy(image, {0, 0, 1, 4}, {3, 3, 0, 0, 3}, Mirror::kNo, out);
  const std::vector<float> shrunk = {0.0F, 13.3333F, 26.6667F};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(out[i], shrunk[i], 1e-4F);
  out.resize(192);
  resize_legacy(image, {0, 0, 1, 4}, {8, 8, 0, 0, 8}, Mirror::kNo, out);
  EXPECT_EQ(first_row(out, 8), (std::vector<float>{0, 5, 10, 15, 20, 25, 30, 30}));
}

TEST(LegacyResize, MirrorsBeforeItResizes) {
  std::vector<float> out(192);
  resize_legacy(row_image({0, 10, 20, 30}), {0, 0, 1, 4}, {8, 8, 0, 0, 8}, Mirror::kYes, out);
  EXPECT_EQ(first_row(out, 8), (std::vector<float>{30, 25, 20, 15, 10, 5, 0, 0}));
}

TEST(LegacyResize, ComputesAWindowOfTheWhole) {
  const dataset::Image image = pattern_image(7, 9);
  std::vector<float> whole(3 * 12 * 12), window(3 * 4 * 4);
  resize_legacy(image, {1, 2, 5, 6}, {12, 12, 0, 0, 12}, Mirror::kNo, whole);
  resize_legacy(image, {1, 2, 5, 6}, {12, 12, 3, 5, 4}, Mirror::kNo, window);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 4; ++x) {
        EXPECT_EQ(window[c * 16 + y * 4 + x], whole[c * 144 + (y + 3) * 12 + x + 5]);
      }
    }
  }
}

TEST(LegacyResize, CopiesWhenTheSizeIsTheSame) {
  const dataset::Image image = pattern_image(6, 6);
  std::vector<float> out(3 * 36);
  resize_legacy(image, {0, 0, 6, 6}, {6, 6, 0, 0, 6}, Mirror::kNo, out);
  for (std::size_t i = 0; i < 36; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[c * 36 + i], image.pixels[i * 3 + c]);
  }
}

/// Red values of a square window of Pillow 9.4.0's Image.resize(size, BILINEAR).
TEST(AntialiasedResize, MatchesPillowWhenShrinking) {
  const dataset::Image image = pattern_image(7, 9);
  // Pillow's result has 3 rows of 4 pixels.
  const std::vector<float> pillow = {90, 167, 135, 136, 124, 147, 144, 111, 134, 123, 97, 91};
  for (const int left : {0, 1}) {
    std::vector<float> out(27);
    resize_antialiased(image, {0, 0, 7, 9}, {3, 4, 0, left, 3}, Mirror::kNo, out);
    for (std::size_t y = 0; y < 3; ++y) {
      for (std::size_t x = 0; x < 3; ++x) {
        EXPECT_EQ(out[y * 3 + x], pillow[y * 4 + x + static_cast<std::size_t>(left)]);
      }
    }
  }
}

TEST(AntialiasedResize, MatchesPillowWhenEnlargingRowsAndShrinkingColumns) {
  // Pillow's result has 12 rows of 5 pixels; the window is rows 4 to 8.
  const std::vector<float> pillow = {126, 167, 162, 139, 180, 141, 130, 179, 131,
                                     119, 130, 116, 173, 123, 85,  91,  126, 146,
                                     114, 79,  104, 121, 126, 106, 88};
  std::vector<float> out(75);
  resize_antialiased(pattern_image(7, 9), {0, 0, 7, 9}, {12, 5, 4, 0, 5}, Mirror::kNo, out);
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 25), pillow);
}

TEST(AntialiasedResize, MatchesPillowOnARegionAndSeesNothingOutsideIt) {
  // Pillow: crop((2, 1, 8, 6)), resize((4, 4)), green.
  const std::vector<float> pillow = {70,  133, 157, 94, 149, 105, 115, 77,
                                     173, 140, 104, 71, 92,  86,  82,  77};
  std::vector<float> out(48);
  resize_antialiased(pattern_image(7, 9), {1, 2, 5, 6}, {4, 4, 0, 0, 4}, Mirror::kNo, out);
  EXPECT_EQ(std::vector<float>(out.begin() + 16, out.begin() + 32), pillow);
  resize_antialiased(pattern_image(7, 9), {1, 2, 5, 6}, {4, 4, 0, 0, 4}, Mirror::kYes, out);
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 4; ++x) EXPECT_EQ(out[16 + y * 4 + x], pillow[y * 4 + 3 - x]);
  }
}

TEST(AntialiasedResize, CopiesWhenTheSizeIsTheSame) {
  const dataset::Image image = pattern_image(6, 6);
  std::vector<float> out(3 * 36);
  resize_antialiased(image, {0, 0, 6, 6}, {6, 6, 0, 0, 6}, Mirror::kNo, out);
  for (std::size_t i = 0; i < 36; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[c * 36 + i], image.pixels[i * 3 + c]);
  }
}

}  // namespace
}  // namespace images
