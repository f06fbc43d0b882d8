// Gradients of weights of strided single points on floats, and the sums that they are made of,
// against plain sums in double precision.
// Hides the order of blocked activations.
#include "workloads/nn/products/float_strip_gradient.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/residual_network.h"

namespace {

using nn::FloatStripGradient;
using residual::noise;

constexpr std::int64_t kBlock = nn::PointKernels::kBlock;

std::vector<float> floats(std::int64_t count, std::uint64_t seed) {
  const plain::Array values = noise(count, 1.0, seed);
  return {values.begin(), values.end()};
}

/// Of `seen` points of a line at a time, `stride` apart.
nn::WindowAxis points(std::int64_t seen, std::int64_t stride, std::int64_t behind = 0) {
  return {(seen - 1) * stride + 1 + behind, seen, 1, stride, 0};
}

TEST(PointKernels, SumProductsOfChannelsOfAllBlocks) {
  struct Size {
    std::int64_t in, out, count;
  };
  for (const Size& size : {Size{1, 1, 1}, Size{2, 5, 7}, Size{1, 6, 30}, Size{4, 8, 33}}) {
    constexpr std::int64_t kInStep = 2 * kBlock, kRoom = 5;
    const std::int64_t in_block = size.count * kInStep + kRoom;
    const std::int64_t out_block = size.count * kBlock + kRoom;
    const std::vector<float> in = floats(size.in * in_block, 1);
    const std::vector<float> out = floats(size.out * out_block, 2);
    for (const nn::Kernels* kernels : usable_kernels()) {
      for (const bool fetches : {false, true}) {
        const nn::PointKernels::Points of_in = {in.data(), size.in, in_block, kInStep,
                                                fetches ? in.data() : nullptr};
        const nn::PointKernels::Points of_out = {out.data(), size.out, out_block, kBlock,
                                                 fetches ? out.data() : nullptr};
        std::vector<float> sums(static_cast<std::size_t>(size.in * size.out * kBlock * kBlock),
                                7.0F);
        kernels->points.sum_products(of_in, of_out, size.count, sums.data(), fetches);
        for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
          const std::int64_t lane = i % kBlock, row = i / kBlock;
          const std::int64_t channel = row % (size.in * kBlock), block = row / (size.in * kBlock);
          double sum = fetches ? 7.0 : 0.0;
          for (std::int64_t point = 0; point < size.count; ++point) {
            const auto from = static_cast<std::size_t>(channel / kBlock * in_block +
                                                       point * kInStep + channel % kBlock);
            const auto to = static_cast<std::size_t>(block * out_block + point * kBlock + lane);
            sum += double{in[from]} * double{out[to]};
          }
          ASSERT_NEAR(sums[static_cast<std::size_t>(i)], sum, 1e-5)
              << "channel " << channel << " of " << block;
        }
      }
    }
  }
}

struct Case {
  nn::WindowShape shape;
  std::int64_t samples;
  int threads;
};

std::int64_t padded(std::int64_t channels) { return (channels + kBlock - 1) / kBlock * kBlock; }

/// [samples][channels / 16][points][16], zeros behind the channels.
std::vector<float> activations(std::int64_t samples, std::int64_t channels, std::int64_t points,
                               std::uint64_t seed) {
  const std::int64_t blocks = padded(channels) / kBlock;
  std::vector<float> all = floats(samples * blocks * points * kBlock, seed);
  for (std::int64_t i = 0; i < std::ssize(all); ++i) {
    const std::int64_t block = i / (points * kBlock) % blocks;
    if (block * kBlock + i % kBlock >= channels) all[static_cast<std::size_t>(i)] = 0.0F;
  }
  return all;
}

struct Given {
  explicit Given(const Case& of)
      : c(of),
        from(activations(c.samples, c.shape.in, c.shape.rows.from * c.shape.columns.from, 1)),
        to(activations(c.samples, c.shape.out, c.shape.rows.to * c.shape.columns.to, 2)) {}
  std::vector<float> gradient(int threads, std::vector<float> before, bool add) const {
    const FloatStripGradient product(c.shape, c.samples, threads, best_kernels());
    std::vector<std::uint32_t> scratch(static_cast<std::size_t>(product.scratch_bytes() / 4));
    product.run(from.data(), to.data(), c.samples, before.data(), add, scratch.data());
    return before;
  }
  std::vector<float> sevens() const {
    return std::vector<float>(static_cast<std::size_t>(padded(c.shape.in) * padded(c.shape.out)),
                              7.0F);
  }
  double expected(std::int64_t in, std::int64_t out) const {
    const auto& [rows, columns, ins, outs] = c.shape;
    double sum = 0.0;
    for (std::int64_t i = 0; i < c.samples * rows.to * columns.to; ++i) {
      const std::int64_t x = i % columns.to, y = i / columns.to % rows.to;
      const std::int64_t sample = i / columns.to / rows.to;
      const std::int64_t met = y * rows.stride * columns.from + x * columns.stride;
      const std::int64_t in_row =
          (sample * padded(ins) / kBlock + in / kBlock) * rows.from * columns.from + met;
      const std::int64_t out_row =
          (sample * padded(outs) / kBlock + out / kBlock) * rows.to * columns.to + y * columns.to +
          x;
      sum += double{from[static_cast<std::size_t>(in_row * kBlock + in % kBlock)]} *
             double{to[static_cast<std::size_t>(out_row * kBlock + out % kBlock)]};
    }
    return sum;
  }
  const Case& c;
  std::vector<float> from, to;
};

TEST(FloatStripGradient, IsThePlainSum) {
  const Case cases[] = {{{points(40, 2), points(45, 2), 16, 32}, 2, 2},  // strips across samples
                        {{points(3, 2, 1), points(5, 2, 1), 48, 16}, 3, 1},   // less than one
                        {{points(2, 1), points(300, 2, 1), 16, 80}, 1, 1},    // several pieces
                        {{points(9, 3, 2), points(75, 1), 32, 64}, 2, 3},     // odd pieces
                        {{points(2, 3, 1), points(2100, 2), 24, 20}, 1, 2}};  // filled blocks
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.shape.columns.to << " points a line");
    const Given given(c);
    const std::vector<float> once = given.gradient(c.threads, given.sevens(), false);
    const std::vector<float> twice = given.gradient(c.threads, once, true);
    for (std::int64_t i = 0; i < std::ssize(once); ++i) {
      const std::int64_t lane = i % kBlock, row = i / kBlock;
      const std::int64_t in = row % padded(c.shape.in);
      const std::int64_t out = row / padded(c.shape.in) * kBlock + lane;
      const double expected = given.expected(in, out);
      const auto place = static_cast<std::size_t>(i);
      ASSERT_NEAR(once[place], expected, 1e-4) << in << ", " << out;
      ASSERT_NEAR(twice[place], 2.0 * expected, 2e-4) << in << ", " << out;
    }
  }
}

TEST(FloatStripGradient, HasTheSameBitsOnAnyNumberOfThreads) {
  const Case once = {{points(70, 2), points(100, 2), 16, 32}, 2, 1};
  const Given given(once);
  const std::vector<float> alone = given.gradient(1, given.sevens(), false);
  EXPECT_EQ(given.gradient(2, given.sevens(), false), alone);
  EXPECT_EQ(given.gradient(4, given.sevens(), false), alone);
}

TEST(FloatStripGradient, ServesStridedPointsOfFewChannels) {
  const auto fits = [](const nn::WindowAxis& line, std::int64_t channels, int threads) {
    return FloatStripGradient::fits({points(64, 2), line, channels, 2 * channels}, 2, threads,
                                    pair_kernels());
  };
  EXPECT_TRUE(fits(points(128, 2), 128, 2));
  EXPECT_TRUE(fits(points(128, 2), 128, 8));
  EXPECT_FALSE(fits(points(128, 2), 128, 6)) << "2 of 8 strips, and 1";
  EXPECT_FALSE(fits(points(16, 2), 128, 2)) << "one strip";
  EXPECT_FALSE(fits(points(128, 2), 256, 2)) << "many weights";
  EXPECT_FALSE(fits({257, 128, 3, 2, 0}, 128, 2)) << "windows";
  EXPECT_FALSE(fits({254, 128, 1, 2, 0}, 128, 2)) << "a last point that is not there";
  EXPECT_FALSE(
      FloatStripGradient::fits({points(64, 1), points(128, 1), 128, 256}, 2, 2, pair_kernels()))
      << "no stride";
  EXPECT_FALSE(FloatStripGradient::fits({points(64, 2), points(128, 2), 128, 256}, 2, 2,
                                        nn::kernels(base::InstructionSet::kAvx512)))
      << "not measured";
}

}  // namespace
