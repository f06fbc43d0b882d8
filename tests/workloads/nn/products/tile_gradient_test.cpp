// The gradient of the weights of windows of images whose channels are last, in matrix tiles,
// against plain sums in double precision. Hides nothing.
#include "workloads/nn/products/tile_gradient.h"

#include <gtest/gtest.h>

#include <vector>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/row_gradient.h"
#include "workloads/nn/products/strip_gradient.h"
#include "workloads/nn/products/window_trial.h"

namespace {

using nn::RowGradient;
using nn::StripGradient;
using nn::TileGradient;
using window_trial::axis;
using window_trial::Case;
using window_trial::Order;

const nn::Kernels& kernels() { return tile_kernels(); }

TEST(TileGradient, IsThePlainSum) {
  const Case cases[] = {
      {{axis(7, 1, 1, 0, 0), axis(7, 1, 1, 0, 0), 16, 64}, 11, 1},    // single points
      {{axis(20, 1, 1, 0, 0), axis(16, 1, 1, 0, 0), 48, 128}, 2, 2},  // several pieces; by panels
      {{axis(14, 1, 2, 0, 0), axis(14, 1, 2, 0, 0), 64, 64}, 3, 2},   // with a stride; by blocks
      {{axis(1, 1, 1, 0, 0), axis(1, 1, 1, 0, 0), 32, 64}, 3, 1},     // fewer than a tile's rows
      {{axis(7, 3, 1, 1, 1), axis(7, 3, 1, 1, 1), 16, 64}, 11, 1},    // windows
      {{axis(14, 3, 2, 0, 1), axis(14, 3, 2, 0, 1), 16, 128}, 3, 2},  // padded behind
      {{axis(9, 3, 2, 1, 1), axis(12, 3, 2, 1, 1), 16, 64}, 2, 1},    // on either side
      {{axis(4, 3, 1, 1, 1), axis(290, 3, 2, 0, 1), 16, 64}, 2, 1},   // lines beyond a piece
      {{axis(11, 5, 3, 2, 2), axis(13, 4, 3, 0, 0), 16, 64}, 2, 1},   // taps beyond steps
      {{axis(4, 7, 1, 3, 3), axis(3, 7, 1, 3, 3), 16, 64}, 2, 1},     // windows beyond the image
      {{{}, axis(21, 3, 2, 1, 1), 16, 64}, 3, 1},                     // lines
      {{axis(16, 1, 1, 0, 0), axis(17, 1, 1, 0, 0), 128, 64}, 2, 4},  // several threads
      // Panels that are not multiplied by fours, and tiles that are not full.
      {{axis(9, 1, 1, 0, 0), axis(5, 1, 1, 0, 0), 40, 88}, 2, 1},
      {{axis(9, 1, 1, 0, 0), axis(5, 1, 1, 0, 0), 88, 100}, 2, 2},
      {{axis(9, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 24, 48}, 2, 2},
      {{axis(4, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 3, 5}, 2, 1},
      {{axis(4, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 75, 24}, 2, 3}};  // uneven shares
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message()
                 << "lines of " << c.shape.columns.to << " points, " << c.samples << " samples");
    expect_gradient(TileGradient(c.shape, c.threads, kernels()), c, Order::kChannelsLast);
    if (HasFatalFailure()) return;
  }
}

TEST(TileGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case once = {{axis(19, 3, 2, 0, 1), axis(33, 3, 2, 0, 1), 64, 64}, 3, 1};
  expect_same_bits_on_threads(once, Order::kChannelsLast, [&](int threads) {
    return TileGradient(once.shape, threads, kernels());
  });
}

TEST(TileGradient, RefusesWhatItCannotShareOut) {
  const auto fits = [](std::int64_t in, std::int64_t out, int threads) {
    const nn::WindowAxis rows = axis(9, 3, 2, 0, 1);
    return TileGradient::fits({rows, rows, in, out}, threads, kernels());
  };
  EXPECT_TRUE(fits(64, 64, 4));
  EXPECT_FALSE(fits(64, 64, 3));
  EXPECT_TRUE(fits(80, 64, 3)) << "2, 2 and 1 block";
  EXPECT_TRUE(fits(40, 80, 1));
  EXPECT_FALSE(fits(40, 80, 4)) << "3 blocks, 2 groups of panels";
  EXPECT_FALSE(
      TileGradient::fits({{}, {}, 64, 64}, 1, nn::kernels(base::InstructionSet::kBaseline)));
}

TEST(StripGradient, IsThePlainSum) {
  const Case cases[] = {
      {{axis(70, 1, 1, 0, 0), axis(71, 1, 1, 0, 0), 16, 24}, 2, 2},    // strips across samples
      {{axis(9, 1, 1, 0, 0), axis(5, 1, 1, 0, 0), 40, 24}, 2, 3},      // less than one
      {{axis(130, 1, 2, 0, 0), axis(140, 1, 2, 0, 0), 16, 64}, 1, 1},  // with a stride
      {{axis(64, 3, 1, 1, 1), axis(129, 3, 1, 1, 1), 5, 16}, 1, 2}};   // windows
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.shape.columns.to << " points a line");
    expect_gradient(StripGradient(c.shape, c.samples, c.threads, kernels()), c,
                    Order::kChannelsLast);
    if (HasFatalFailure()) return;
  }
}

TEST(StripGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case once = {{axis(90, 1, 1, 0, 0), axis(100, 1, 1, 0, 0), 16, 32}, 2, 1};
  expect_same_bits_on_threads(once, Order::kChannelsLast, [&](int threads) {
    return StripGradient(once.shape, once.samples, threads, kernels());
  });
}

TEST(StripGradient, ServesManyPointsOfFewChannels) {
  const auto fits = [](std::int64_t channels, std::int64_t points, int threads) {
    const nn::WindowAxis line = axis(points, 1, 1, 0, 0);
    return StripGradient::fits({{}, line, channels, channels}, 2, threads, kernels());
  };
  EXPECT_TRUE(fits(128, 4 * 4096, 2));
  EXPECT_TRUE(fits(128, 4 * 4096, 8));
  EXPECT_FALSE(fits(128, 4 * 4096, 6)) << "2 of 8 strips, and 1";
  EXPECT_FALSE(fits(128, 2048, 2)) << "one strip";
  EXPECT_FALSE(fits(728, 4 * 4096, 2)) << "more weights than a strip is worth";
}

/// Every pair of every tap, those beyond the line among them, and nothing else.
void expect_pairs_of_taps(const nn::Bf16Tiles::Row& row) {
  constexpr std::int64_t kLanes = 16;
  SCOPED_TRACE(testing::Message() << row.taps << " taps, stride " << row.stride << ", padding "
                                  << row.padding << ", " << row.points << " points, " << row.columns
                                  << " columns");
  std::vector<std::uint32_t> packed(static_cast<std::size_t>(row.taps * row.tap_words), 7);
  kernels().bf16_tiles.pack_row(row, packed.data());
  const auto bits_at = [&](std::int64_t point, std::int64_t tap,
                           std::int64_t lane) -> std::uint32_t {
    const std::int64_t column = point * row.stride + tap - row.padding;
    if (point >= row.points || column < 0 || column >= row.columns) return 0;
    return row.line[column * row.column_step + lane].bits;
  };
  for (std::int64_t i = 0; i < std::ssize(packed); ++i) {
    const std::int64_t tap = i / row.tap_words, word = i % row.tap_words;
    const std::int64_t point = word / kLanes * 2, lane = word % kLanes;
    const std::uint32_t pair = bits_at(point, tap, lane) | bits_at(point + 1, tap, lane) << 16;
    ASSERT_EQ(packed[static_cast<std::size_t>(i)], word < row.tiles * 256 ? pair : 7)
        << "word " << i;
  }
}

TEST(RowGradient, PacksPairsOfTaps) {
  constexpr std::int64_t kStep = 24;
  const std::vector<nn::Bf16> numbers = window_trial::noise(80 * kStep, 3);
  const auto expect_points = [&](std::int64_t taps, std::int64_t stride, std::int64_t padding) {
    for (const std::int64_t points : {1, 2, 31, 40, 70}) {
      const std::int64_t tiles = (points + 31) / 32;
      for (const std::int64_t columns : {2, 33, 79}) {
        expect_pairs_of_taps({numbers.data(), columns, kStep, points, stride, padding, taps, tiles,
                              tiles * 256 + 8});
      }
    }
  };
  for (const std::int64_t taps : {1, 3, 5}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t padding : {-7, 0, 1, 4, 9}) expect_points(taps, stride, padding);
    }
  }
}

TEST(RowGradient, IsThePlainSum) {
  const Case cases[] = {
      {{axis(70, 3, 2, 1, 0), axis(40, 3, 2, 1, 0), 16, 32}, 2, 2},   // strips across samples
      {{axis(37, 3, 1, 1, 1), axis(45, 3, 1, 1, 1), 32, 48}, 1, 1},   // several blocks
      {{axis(20, 5, 1, 2, 2), axis(64, 5, 1, 2, 2), 16, 16}, 2, 2},   // more taps than panels
      {{axis(9, 1, 2, 0, 0), axis(33, 4, 3, 3, 1), 16, 16}, 3, 1},    // padding beyond a step
      {{axis(5, 7, 1, 3, 3), axis(3, 7, 1, 3, 3), 16, 16}, 1, 1},     // windows beyond the image
      {{axis(12, 2, 3, 0, 0), axis(70, 2, 3, 0, 0), 16, 16}, 2, 2}};  // lines that none meets
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.shape.columns.to << " points a line");
    expect_gradient(RowGradient(c.shape, c.samples, c.threads, kernels()), c, Order::kChannelsLast);
    if (HasFatalFailure()) return;
  }
}

TEST(RowGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case once = {{axis(65, 3, 1, 1, 1), axis(40, 3, 1, 1, 1), 16, 32}, 2, 1};
  expect_same_bits_on_threads(once, Order::kChannelsLast, [&](int threads) {
    return RowGradient(once.shape, once.samples, threads, kernels());
  });
}

TEST(RowGradient, ServesWideImagesOfFewChannels) {
  const auto fits = [](std::int64_t in, std::int64_t out, std::int64_t columns, int threads) {
    return RowGradient::fits({axis(128, 3, 1, 1, 1), axis(columns, 3, 1, 1, 1), in, out}, 1,
                             threads, kernels());
  };
  EXPECT_TRUE(fits(64, 64, 256, 2));
  EXPECT_TRUE(fits(16, 32, 256, 4));
  EXPECT_FALSE(fits(16, 32, 256, 3)) << "2 of 4 strips, 1 and 1";
  EXPECT_FALSE(fits(64, 80, 256, 2)) << "more weights than rows are worth";
  EXPECT_FALSE(fits(24, 32, 256, 2)) << "channels that fill no tile";
  EXPECT_FALSE(fits(16, 32, 255, 2)) << "narrow";
  const nn::WindowAxis point = axis(256, 1, 1, 0, 0);
  EXPECT_FALSE(RowGradient::fits({point, point, 16, 32}, 1, 2, kernels())) << "single points";
}

}  // namespace
