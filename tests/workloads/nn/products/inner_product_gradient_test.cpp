// Compares InnerProductGradient with plain sums in double precision.
#include "workloads/nn/products/inner_product_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/window_trial.h"

namespace {

using nn::Bf16;
using nn::InnerProductGradient;
using window_trial::noise;

struct InnerProductCase {
  InnerProductGradient::Shape shape;
  int threads;
};

/// A case's operands.
struct Activations {
  const InnerProductCase& c;
  std::vector<Bf16> src = noise(c.shape.rows * c.shape.in, 1);
  std::vector<Bf16> diff_dst = noise(c.shape.rows * c.shape.out, 2);

  static double at(const std::vector<Bf16>& all, std::int64_t place) {
    return static_cast<double>(nn::as_float(all[static_cast<std::size_t>(place)]));
  }
  /// Sum over rows, and the sum of its terms' absolute values.
  std::pair<double, double> sums(std::int64_t out, std::int64_t in) const {
    double sum = 0.0, size = 0.0;
    for (std::int64_t row = 0; row < c.shape.rows; ++row) {
      const double product = at(diff_dst, row * c.shape.out + out) * at(src, row * c.shape.in + in);
      sum += product;
      size += std::abs(product);
    }
    return {sum, size};
  }
};

std::int64_t blocks(const InnerProductCase& c) { return (c.shape.in + 15) / 16; }

/// Index of a weight.
std::size_t place(const InnerProductCase& c, std::int64_t out, std::int64_t in) {
  constexpr std::int64_t kWidth = 64;
  const std::int64_t tile = out / kWidth * blocks(c) + in / 16;
  return static_cast<std::size_t>((tile * 16 + in % 16) * kWidth + out % kWidth);
}

void expect_gradient(const InnerProductCase& c) {
  const Activations given = {c};
  const InnerProductGradient gradient(c.shape, c.threads, pair_kernels());
  std::vector<std::uint32_t> scratch(static_cast<std::size_t>(gradient.scratch_bytes() / 4));
  std::vector<float> once(static_cast<std::size_t>(blocks(c) * 16 * c.shape.out), 7.0F);
  const auto run = [&](std::vector<float>& weights, bool add) {
    gradient.run(given.src.data(), given.diff_dst.data(), weights.data(), add, scratch.data());
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

TEST(InnerProductGradient, IsThePlainSum) {
  for (const InnerProductCase& c :
       {InnerProductCase{{2, 16, 64}, 1}, InnerProductCase{{33, 13, 128}, 2},
        InnerProductCase{{1, 79, 64}, 1}, InnerProductCase{{515, 96, 192}, 3},
        InnerProductCase{{300, 130, 64}, 3}, InnerProductCase{{257, 100, 256}, 4},
        InnerProductCase{{231, 50, 64}, 2}}) {
    expect_gradient(c);
  }
}

TEST(InnerProductGradient, CutsManyChannelsIntoPiecesThatFitTheCache) {
  EXPECT_LE(InnerProductGradient({49, 4096, 64}, 1, pair_kernels()).scratch_bytes(), 600 << 10);
}

TEST(InnerProductGradient, RefusesWhatItCannotShareOut) {
  EXPECT_TRUE(InnerProductGradient::applies({9, 64, 64}, 4, pair_kernels()));
  EXPECT_FALSE(InnerProductGradient::applies({9, 64, 64}, 3, pair_kernels()));
  EXPECT_FALSE(InnerProductGradient::applies({9, 64, 80}, 1, pair_kernels()));
  EXPECT_TRUE(InnerProductGradient::applies({1, 24, 64}, 1, pair_kernels()));
  EXPECT_FALSE(
      InnerProductGradient::applies({9, 64, 64}, 1, nn::kernels(base::InstructionSet::kBaseline)));
}

}  // namespace
