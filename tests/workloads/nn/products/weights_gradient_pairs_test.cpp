// Compares PairGradient with plain sums in double precision.
#include "workloads/nn/products/weights_gradient_pairs.h"

#include <gtest/gtest.h>

#include <vector>

#include "runner/base/system_facts.h"
#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/window_trial.h"

namespace {

using nn::PairGradient;
using window_trial::axis;
using window_trial::Order;

TEST(PairGradient, IsThePlainSum) {
  const window_trial::Case cases[] = {
      {{axis(7, 3, 1, 1, 1), axis(7, 3, 1, 1, 1), 16, 64}, 11, 1},    // several samples a piece
      {{axis(6, 3, 1, 1, 1), axis(8, 3, 1, 1, 1), 32, 64}, 2, 2},     // even lines; by blocks
      {{axis(14, 3, 2, 0, 1), axis(14, 3, 2, 0, 1), 16, 128}, 3, 2},  // end padded; by panels
      {{axis(9, 3, 2, 1, 1), axis(12, 3, 2, 1, 1), 16, 64}, 2, 1},    // padded on both sides
      {{axis(30, 3, 1, 1, 1), axis(37, 3, 1, 1, 1), 16, 64}, 2, 1},   // strips of lines
      {{axis(4, 3, 1, 1, 1), axis(290, 3, 2, 0, 1), 16, 64}, 1, 1},   // a line is a piece
      {{axis(9, 1, 2, 0, 0), axis(11, 1, 2, 0, 0), 48, 64}, 5, 1},    // 1x1 with a stride
      {{axis(11, 5, 3, 2, 2), axis(13, 4, 3, 0, 0), 16, 64}, 2, 1},   // kernel larger than stride
      {{axis(4, 7, 1, 3, 3), axis(3, 7, 1, 3, 3), 16, 64}, 2, 1},     // window larger than image
      {{{}, axis(21, 3, 2, 1, 1), 16, 64}, 3, 1},                     // lines
      {{axis(3, 1, 1, 0, 0), axis(98, 1, 1, 0, 0), 16, 64}, 2, 1},    // single pixels in lines
      {{axis(1, 1, 1, 0, 0), axis(49, 1, 1, 0, 0), 96, 64}, 9, 2},    // an odd number of pixels
      {{axis(5, 2, 2, 0, 0), axis(5, 2, 2, 0, 0), 16, 64}, 1, 1},     // pixels that no tap reads
      {{axis(1, 3, 1, 1, 1), axis(1, 3, 1, 1, 1), 32, 64}, 70, 2}};   // one pixel
  for (const window_trial::Case& c : cases) {
    SCOPED_TRACE(testing::Message()
                 << "lines of " << c.shape.columns.to << " points, " << c.samples << " samples");
    expect_gradient(PairGradient(c.shape, c.threads, pair_kernels()), c, Order::kBlocked);
    if (HasFatalFailure()) return;
  }
}

TEST(PairGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  const window_trial::Case once = {{axis(9, 3, 2, 0, 1), axis(9, 3, 2, 0, 1), 64, 64}, 3, 1};
  expect_same_bits_on_threads(once, Order::kBlocked, [&](int threads) {
    return PairGradient(once.shape, threads, pair_kernels());
  });
}

TEST(PairGradient, RefusesWhatItCannotShareOut) {
  const auto applies = [](std::int64_t in, std::int64_t out, int threads) {
    const nn::WindowAxis rows = axis(9, 3, 2, 0, 1);
    return PairGradient::applies({rows, rows, in, out}, threads, pair_kernels());
  };
  EXPECT_TRUE(applies(64, 64, 4));
  EXPECT_FALSE(applies(64, 64, 3));
  EXPECT_TRUE(applies(48, 128, 2));
  EXPECT_FALSE(applies(64, 80, 1));
  EXPECT_FALSE(applies(24, 64, 1));
  EXPECT_FALSE(
      PairGradient::applies({{}, {}, 64, 64}, 1, nn::kernels(base::InstructionSet::kBaseline)));
}

}  // namespace
