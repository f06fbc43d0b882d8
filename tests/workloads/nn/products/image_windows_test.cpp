// Products of an image's windows in matrix tiles, where they stand, against plain sums in double
// precision. Hides nothing.
#include "workloads/nn/products/image_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "workloads/kernels/aligned.h"
#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/window_trial.h"

namespace {

using nn::Bf16;
using window_trial::axis;

constexpr std::int64_t kLanes = 16, kTileRows = nn::Bf16Tiles::kRows;

/// An image, and weights [out][lines][numbers of a window's row] as tiles have them.
struct Problem {
  explicit Problem(const nn::WindowShape& given)
      : shape(given),
        numbers(given.columns.kernel * given.in),
        image(window_trial::noise(given.rows.from * given.columns.from * given.in, 1)),
        weights(window_trial::noise(given.out * given.rows.kernel * numbers, 2)) {}
  double weight(std::int64_t out, std::int64_t line, std::int64_t number) const {
    const auto at = static_cast<std::size_t>((out * shape.rows.kernel + line) * numbers + number);
    return static_cast<double>(nn::as_float(weights[at]));
  }
  double pixel(std::int64_t y, std::int64_t x, std::int64_t channel) const {
    if (y < 0 || y >= shape.rows.from || x < 0 || x >= shape.columns.from) return 0.0;
    const std::int64_t at = (y * shape.columns.from + x) * shape.in + channel;
    return static_cast<double>(nn::as_float(image[static_cast<std::size_t>(at)]));
  }
  double product(std::int64_t row, std::int64_t column, std::int64_t out) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < shape.rows.kernel * numbers; ++i) {
      const std::int64_t line = i / numbers, number = i % numbers;
      sum += pixel(row * shape.rows.stride - shape.rows.padding + line,
                   column * shape.columns.stride - shape.columns.padding + number / shape.in,
                   number % shape.in) *
             weight(out, line, number);
    }
    return sum;
  }
  /// [lines][parts][out / 16][16 pairs][16][2]
  std::vector<std::uint32_t> tiles(const nn::ImageWindows& windows) const {
    const std::int64_t parts = (numbers + kTileRows - 1) / kTileRows;
    std::vector<std::uint32_t> packed;
    for (std::int64_t i = 0; i < shape.rows.kernel * parts * (shape.out / kLanes); ++i) {
      const std::int64_t panel = i % (shape.out / kLanes), line = i / (shape.out / kLanes) / parts;
      const auto [first, end] = windows.numbers_of(i / (shape.out / kLanes) % parts);
      for (std::int64_t number = first; number < first + kTileRows; number += 2) {
        for (std::int64_t out = panel * kLanes; out < (panel + 1) * kLanes; ++out) {
          packed.push_back(bits(out, line, number, end) | bits(out, line, number + 1, end) << 16);
        }
      }
    }
    return packed;
  }
  std::uint32_t bits(std::int64_t out, std::int64_t line, std::int64_t number,
                     std::int64_t end) const {
    if (number >= end) return 0;
    const auto at = static_cast<std::size_t>((out * shape.rows.kernel + line) * numbers + number);
    return weights[at].bits;
  }

  const nn::WindowShape shape;
  const std::int64_t numbers;
  const std::vector<Bf16> image, weights;
};

void expect_products(const Problem& problem, nn::Stores stores) {
  const nn::WindowShape& shape = problem.shape;
  const nn::ImageWindows windows(shape, tile_kernels());
  const std::vector<std::uint32_t> tiles = problem.tiles(windows);
  const std::int64_t row_size = shape.columns.to * shape.out;
  const nn::AlignedFloats memory(shape.rows.to * row_size);  // twice as much
  auto* const dst = reinterpret_cast<Bf16*>(memory.data());
  std::fill_n(dst, 2 * memory.count(), Bf16{0x4141});
  for (std::int64_t row = 0; row < shape.rows.to; row += kLanes) {
    windows.multiply(problem.image.data(), {row, std::min(row + kLanes, shape.rows.to)},
                     tiles.data(), stores, dst + row * row_size);
  }
  for (std::int64_t i = 0; i < shape.rows.to * row_size; ++i) {
    const std::int64_t out = i % shape.out, point = i / shape.out;
    const double wanted = problem.product(point / shape.columns.to, point % shape.columns.to, out);
    ASSERT_NEAR(static_cast<double>(nn::as_float(dst[i])), wanted, 1e-4 + std::abs(wanted) / 256.0)
        << "row " << point / shape.columns.to << ", column " << point % shape.columns.to;
  }
  EXPECT_EQ(dst[shape.rows.to * row_size].bits, 0x4141) << "behind the last row";
}

TEST(ImageWindows, AreThePlainSums) {
  const nn::WindowShape shapes[] = {
      {axis(40, 3, 2, 1, 1), axis(40, 3, 2, 1, 0), 16, 32},   // as DeepCAM's, more than 16 rows
      {axis(9, 3, 1, 1, 1), axis(21, 3, 1, 1, 1), 16, 48},    // both edges
      {axis(7, 3, 2, 1, 1), axis(52, 5, 2, 1, 1), 16, 32},    // parts that begin lines
      {axis(6, 5, 1, 2, 2), axis(20, 6, 1, 3, 2), 8, 16},     // several windows beside the image
      {axis(7, 2, 2, 0, 0), axis(40, 2, 2, 0, 0), 32, 64},    // none
      {axis(4, 7, 3, 3, 3), axis(52, 7, 3, 6, 3), 16, 16},    // padding beyond a step
      {axis(2, 5, 1, 3, 3), axis(4, 16, 1, 14, 14), 2, 16}};  // all of them beside the image
  for (const nn::WindowShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.columns.to << " columns, " << shape.in << " channels");
    ASSERT_TRUE(nn::ImageWindows::fits(shape));
    const Problem problem(shape);
    expect_products(problem, nn::Stores::kCached);
    expect_products(problem, nn::Stores::kStreamed);
    if (HasFatalFailure()) return;
  }
}

TEST(ImageWindows, ServeWholeTilesOfRows) {
  const auto fits = [](std::int64_t kernel, std::int64_t in, std::int64_t out,
                       std::int64_t columns) {
    return nn::ImageWindows::fits(
        {axis(9, 3, 1, 1, 1), axis(columns, kernel, 1, 0, kernel - 1), in, out});
  };
  EXPECT_TRUE(fits(3, 16, 16, 16));
  EXPECT_FALSE(fits(3, 16, 16, 15)) << "few windows";
  EXPECT_FALSE(fits(1, 16, 16, 16)) << "less than a tile's row";
  EXPECT_FALSE(fits(3, 12, 16, 16)) << "broken rows";
  EXPECT_FALSE(fits(3, 16, 24, 16)) << "broken channels";
}

}  // namespace
