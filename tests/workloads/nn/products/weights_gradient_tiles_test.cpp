// Compares TileGradient with plain sums in double precision.
#include "workloads/nn/products/weights_gradient_tiles.h"

#include <gtest/gtest.h>

#include <vector>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/window_trial.h"

namespace {

using nn::TileGradient;
using window_trial::axis;
using window_trial::Order;
using Sharing = nn::TileGradient::Sharing;

TEST(TileGradient, IsThePlainSum) {
  const window_trial::Case cases[] = {
      {{axis(7, 1, 1, 0, 0), axis(7, 1, 1, 0, 0), 16, 64}, 11, 1},    // 1x1
      {{axis(20, 1, 1, 0, 0), axis(16, 1, 1, 0, 0), 48, 128}, 2, 2},  // several pieces; by panels
      {{axis(14, 1, 2, 0, 0), axis(14, 1, 2, 0, 0), 64, 64}, 3, 2},   // with a stride; by blocks
      {{axis(1, 1, 1, 0, 0), axis(1, 1, 1, 0, 0), 32, 64}, 3, 1},     // less than a tile's rows
      {{axis(7, 3, 1, 1, 1), axis(7, 3, 1, 1, 1), 16, 64}, 11, 1},    // windows
      {{axis(14, 3, 2, 0, 1), axis(14, 3, 2, 0, 1), 16, 128}, 3, 2},  // padded at the end
      {{axis(9, 3, 2, 1, 1), axis(12, 3, 2, 1, 1), 16, 64}, 2, 1},    // padded on both sides
      {{axis(4, 3, 1, 1, 1), axis(290, 3, 2, 0, 1), 16, 64}, 2, 1},   // lines beyond a piece
      {{axis(11, 5, 3, 2, 2), axis(13, 4, 3, 0, 0), 16, 64}, 2, 1},   // kernel larger than stride
      {{axis(4, 7, 1, 3, 3), axis(3, 7, 1, 3, 3), 16, 64}, 2, 1},     // window larger than image
      {{{}, axis(21, 3, 2, 1, 1), 16, 64}, 3, 1},                     // lines
      {{axis(16, 1, 1, 0, 0), axis(17, 1, 1, 0, 0), 128, 64}, 2, 4},  // several threads
      // Groups of fewer than four panels, and tiles that are not full.
      {{axis(9, 1, 1, 0, 0), axis(5, 1, 1, 0, 0), 40, 88}, 2, 1},
      {{axis(9, 1, 1, 0, 0), axis(5, 1, 1, 0, 0), 88, 100}, 2, 2},
      {{axis(9, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 24, 48}, 2, 2},
      {{axis(4, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 3, 5}, 2, 1},
      {{axis(4, 3, 1, 1, 1), axis(5, 3, 1, 1, 1), 75, 24}, 2, 3}};  // uneven shares
  for (const window_trial::Case& c : cases) {
    SCOPED_TRACE(testing::Message()
                 << "lines of " << c.shape.columns.to << " points, " << c.samples << " samples");
    expect_gradient(TileGradient(c.shape, Sharing::kChannels, c.samples, c.threads, tile_kernels()),
                    c, Order::kChannelsLast);
    if (HasFatalFailure()) return;
  }
}

TEST(TileGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  const window_trial::Case once = {{axis(19, 3, 2, 0, 1), axis(33, 3, 2, 0, 1), 64, 64}, 3, 1};
  expect_same_bits_on_threads(once, Order::kChannelsLast, [&](int threads) {
    return TileGradient(once.shape, Sharing::kChannels, once.samples, threads, tile_kernels());
  });
}

TEST(TileGradient, RefusesWhatItCannotShareOut) {
  const auto applies = [](std::int64_t in, std::int64_t out, int threads) {
    const nn::WindowAxis rows = axis(9, 3, 2, 0, 1);
    return TileGradient::applies({rows, rows, in, out}, Sharing::kChannels, 1, threads,
                                 tile_kernels());
  };
  EXPECT_TRUE(applies(64, 64, 4));
  EXPECT_FALSE(applies(64, 64, 3));
  EXPECT_TRUE(applies(80, 64, 3)) << "2, 2 and 1 block";
  EXPECT_TRUE(applies(40, 80, 1));
  EXPECT_FALSE(applies(40, 80, 4)) << "3 blocks, 2 groups of panels";
  EXPECT_FALSE(TileGradient::applies({{}, {}, 64, 64}, Sharing::kChannels, 1, 1,
                                     nn::kernels(base::InstructionSet::kBaseline)));
}

TEST(TileGradient, OfStripsIsThePlainSum) {
  const window_trial::Case cases[] = {
      {{axis(70, 1, 1, 0, 0), axis(71, 1, 1, 0, 0), 16, 24}, 2, 2},    // strips across samples
      {{axis(9, 1, 1, 0, 0), axis(5, 1, 1, 0, 0), 40, 24}, 2, 3},      // less than one strip
      {{axis(130, 1, 2, 0, 0), axis(140, 1, 2, 0, 0), 16, 64}, 1, 1},  // with a stride
      {{axis(64, 3, 1, 1, 1), axis(129, 3, 1, 1, 1), 5, 16}, 1, 2}};   // windows
  for (const window_trial::Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.shape.columns.to << " points a line");
    expect_gradient(TileGradient(c.shape, Sharing::kPixels, c.samples, c.threads, tile_kernels()),
                    c, Order::kChannelsLast);
    if (HasFatalFailure()) return;
  }
}

TEST(TileGradient, OfStripsHasTheSameBitsOnAnyNumberOfThreads) {
  const window_trial::Case once = {{axis(90, 1, 1, 0, 0), axis(100, 1, 1, 0, 0), 16, 32}, 2, 1};
  expect_same_bits_on_threads(once, Order::kChannelsLast, [&](int threads) {
    return TileGradient(once.shape, Sharing::kPixels, once.samples, threads, tile_kernels());
  });
}

TEST(TileGradient, OfStripsServesManyPixelsOfFewChannels) {
  const auto applies = [](std::int64_t channels, std::int64_t points, int threads) {
    const nn::WindowAxis line = axis(points, 1, 1, 0, 0);
    return TileGradient::applies({{}, line, channels, channels}, Sharing::kPixels, 2, threads,
                                 tile_kernels());
  };
  EXPECT_TRUE(applies(128, 4 * 4096, 2));
  EXPECT_TRUE(applies(128, 4 * 4096, 8));
  EXPECT_FALSE(applies(128, 4 * 4096, 6)) << "2 of 8 strips, and 1";
  EXPECT_FALSE(applies(128, 2048, 2)) << "one strip";
  EXPECT_TRUE(TileGradient::are_sums_few({{}, axis(4096, 1, 1, 0, 0), 128, 128}));
  EXPECT_FALSE(TileGradient::are_sums_few({{}, axis(4096, 1, 1, 0, 0), 728, 728}))
      << "more weights than a strip is worth";
}

}  // namespace
