// The gradient of pointwise and fully connected weights in bfloat16 against plain sums in double
// precision.
#include "workloads/nn/products/pointwise_gradient.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

using nn::Bf16;
using nn::PointwiseGradient;
constexpr auto kRows = PointwiseGradient::Layout::kRows;

const nn::Kernels& kernels() { return pair_kernels(); }

double number(Bf16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
}

std::vector<Bf16> noise(std::int64_t count, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  std::vector<Bf16> values(static_cast<std::size_t>(count));
  for (Bf16& value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(random.uniform(-1.0, 1.0)));
    value.bits = static_cast<std::uint16_t>(bits >> 16);
  }
  return values;
}

struct Case {
  PointwiseGradient::Shape shape;
  std::int64_t samples;
  int threads;
};

/// What a case is computed from.
struct Activations {
  const Case& c;
  std::vector<Bf16> src = noise(c.samples * c.shape.in * c.shape.points, 1);
  std::vector<Bf16> diff_dst = noise(c.samples * c.shape.out * c.shape.points, 2);

  double at(const std::vector<Bf16>& all, std::int64_t channels, std::int64_t sample,
            std::int64_t channel, std::int64_t point) const {
    if (c.shape.layout == kRows) {
      const std::int64_t row = sample * c.shape.points + point;
      return number(all[static_cast<std::size_t>(row * channels + channel)]);
    }
    const std::int64_t column = sample * (channels / 16) + channel / 16;
    const std::int64_t row = column * c.shape.points + point;
    return number(all[static_cast<std::size_t>(row * 16 + channel % 16)]);
  }
  /// Sum over samples and points, and of the sizes of its addends.
  std::pair<double, double> sums(std::int64_t out, std::int64_t in) const {
    double sum = 0.0, size = 0.0;
    for (std::int64_t n = 0; n < c.samples; ++n) {
      for (std::int64_t p = 0; p < c.shape.points; ++p) {
        const double product = at(diff_dst, c.shape.out, n, out, p) * at(src, c.shape.in, n, in, p);
        sum += product;
        size += std::abs(product);
      }
    }
    return {sum, size};
  }
};

std::int64_t blocks(const Case& c) { return (c.shape.in + 15) / 16; }

/// Where a weight stands.
std::size_t place(const Case& c, std::int64_t out, std::int64_t in) {
  const std::int64_t width = c.shape.layout == kRows ? 64 : 16;
  const std::int64_t tile = out / width * blocks(c) + in / 16;
  return static_cast<std::size_t>((tile * 16 + in % 16) * width + out % width);
}

void expect_gradient(const Case& c) {
  const Activations given = {c};
  const PointwiseGradient gradient(c.shape, c.threads, kernels());
  std::vector<std::uint32_t> scratch(static_cast<std::size_t>(gradient.scratch_bytes() / 4));
  std::vector<float> once(static_cast<std::size_t>(blocks(c) * 16 * c.shape.out), 7.0F);
  const auto run = [&](std::vector<float>& weights, bool add) {
    gradient.run(given.src.data(), given.diff_dst.data(), c.samples, weights.data(), add,
                 scratch.data());
  };
  run(once, false);
  std::vector<float> twice = once;
  run(twice, true);
  for (std::int64_t out = 0; out < c.shape.out; ++out) {
    for (std::int64_t in = 0; in < c.shape.in; ++in) {
      const std::size_t at = place(c, out, in);
      const auto [expected, size] = given.sums(out, in);
      ASSERT_NEAR(static_cast<double>(once[at]), expected, 1e-6 * size) << out << ", " << in;
      ASSERT_NEAR(static_cast<double>(twice[at]), 2.0 * expected, 3e-6 * size);
    }
    for (std::int64_t in = c.shape.in; in < blocks(c) * 16; ++in) {
      ASSERT_EQ(twice[place(c, out, in)], 0.0F) << "what pads the weights";
    }
  }
}

TEST(PointwiseGradient, IsThePlainSum) {
  for (const Case& c : {Case{{9, 16, 64}, 1, 1}, Case{{1, 32, 64}, 5, 2}, Case{{49, 48, 128}, 3, 2},
                        Case{{300, 16, 64}, 2, 1}, Case{{14, 64, 64}, 40, 4}}) {
    expect_gradient(c);
  }
}

TEST(PointwiseGradient, IsThePlainSumOfRows) {
  for (const Case& c : {Case{{2, 16, 64, kRows}, 1, 1}, Case{{33, 13, 128, kRows}, 1, 2},
                        Case{{1, 79, 64, kRows}, 1, 1}, Case{{515, 96, 192, kRows}, 1, 3},
                        Case{{300, 130, 64, kRows}, 1, 3}, Case{{257, 100, 256, kRows}, 1, 4},
                        Case{{33, 50, 64, kRows}, 7, 2}}) {
    expect_gradient(c);
  }
}

TEST(PointwiseGradient, CutsManyChannelsIntoPiecesThatFitTheCache) {
  EXPECT_LE(PointwiseGradient({49, 4096, 64}, 1, kernels()).scratch_bytes(), 600 << 10);
}

TEST(PointwiseGradient, RefusesWhatItCannotShareOut) {
  EXPECT_TRUE(PointwiseGradient::fits({9, 64, 64}, 4, kernels()));
  EXPECT_FALSE(PointwiseGradient::fits({9, 64, 64}, 3, kernels()));
  EXPECT_FALSE(PointwiseGradient::fits({9, 64, 80}, 1, kernels()));
  EXPECT_FALSE(PointwiseGradient::fits({9, 24, 64}, 1, kernels()));
  EXPECT_TRUE(PointwiseGradient::fits({1, 24, 64, kRows}, 1, kernels()));
  EXPECT_FALSE(
      PointwiseGradient::fits({9, 64, 64}, 1, nn::kernels(base::InstructionSet::kBaseline)));
}

}  // namespace
