// Convolutions of strided single points on floats of few channels, and the products that they are
// made of, against plain loops.
// Hides nothing.
#include "workloads/nn/products/strided_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/kernels/aligned.h"
#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/convolution_trial.h"

namespace {

using convolution_trial::Case;
using convolution_trial::Made;

constexpr std::int64_t kBlock = nn::PointKernels::kBlock;

std::vector<float> floats(std::int64_t count, std::uint64_t seed) {
  const plain::Array values = residual::noise(count, 1.0, seed);
  return {values.begin(), values.end()};
}

/// Every instruction set's, of whole tiles and broken ones; zeros between points and behind them,
/// and nothing else touched.
TEST(PointKernels, MultiplyPointsAndWriteZerosBetween) {
  struct Size {
    std::int64_t in, out, count, apart, behind;
  };
  constexpr std::int64_t kRoom = 2 * kBlock;
  for (const Size& size : {Size{1, 1, 1, 1, 0}, Size{2, 5, 7, 2, 0}, Size{1, 6, 30, 3, 2},
                           Size{4, 8, 13, 1, 9}, Size{3, 4, 6, 2, 40}}) {
    const std::int64_t in_block = size.count * 2 * kBlock;
    const std::int64_t end = ((size.count - 1) * size.apart + 1 + size.behind) * kBlock;
    const std::vector<float> in = floats(size.in * in_block, 1);
    const std::vector<float> weights = floats(size.in * size.out * kBlock * kBlock, 2);
    for (const nn::Kernels* kernels : usable_kernels()) {
      for (const nn::Stores stores : {nn::Stores::kCached, nn::Stores::kStreamed}) {
        nn::AlignedFloats out(size.out * (end + kRoom));
        std::fill_n(out.data(), size.out * (end + kRoom), 7.0F);
        const bool fetches = stores == nn::Stores::kStreamed;
        kernels->points.multiply(
            {in.data(), size.in, in_block, 2 * kBlock, fetches ? in.data() : nullptr}, size.count,
            weights.data(), {out.data(), size.out, end + kRoom, size.apart * kBlock, end, stores});
        for (std::int64_t i = 0; i < size.out * (end + kRoom); ++i) {
          const std::int64_t block = i / (end + kRoom), at = i % (end + kRoom);
          const std::int64_t line = at / kBlock, point = line / size.apart, lane = at % kBlock;
          double expected = at < end ? 0.0 : 7.0;
          if (at < end && line % size.apart == 0 && point < size.count) {
            for (std::int64_t channel = 0; channel < size.in * kBlock; ++channel) {
              const auto from = static_cast<std::size_t>(channel / kBlock * in_block +
                                                         point * 2 * kBlock + channel % kBlock);
              const auto weight =
                  static_cast<std::size_t>((block * size.in * kBlock + channel) * kBlock + lane);
              expected += double{in[from]} * double{weights[weight]};
            }
          }
          ASSERT_NEAR(out.data()[i], expected, 2e-5) << "block " << block << ", float " << at;
        }
      }
    }
  }
}

/// A sample's numbers in a forward pass are the same in a batch of any size.
TEST(PointKernels, MultiplyPointsToTheSameBitsAlone) {
  constexpr std::int64_t kCount = 15, kIn = 3, kOut = 7, kNumbers = kCount * kBlock;
  const std::vector<float> in = floats(kIn * kNumbers, 1);
  const std::vector<float> weights = floats(kIn * kOut * kBlock * kBlock, 2);
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<float> together(static_cast<std::size_t>(kOut * kNumbers)), alone = together;
    kernels->points.multiply({in.data(), kIn, kNumbers}, kCount, weights.data(),
                             {together.data(), kOut, kNumbers, kBlock, kNumbers});
    for (std::int64_t point = 0; point < kCount; ++point) {
      kernels->points.multiply({in.data() + point * kBlock, kIn, kNumbers}, 1, weights.data(),
                               {alone.data() + point * kBlock, kOut, kNumbers, kBlock, kBlock});
    }
    EXPECT_EQ(alone, together);
  }
}

class StridedPoints : public convolution_trial::Trial {
 protected:
  void SetUp() override {
    if (base::usable_instruction_set() < base::InstructionSet::kAvx512) {
      GTEST_SKIP() << "needs avx512: with AVX2 oneDNN's blocks have 8 channels";
    }
  }
};

/// Floats, so that what is an own product is one of these.
TEST_P(StridedPoints, AreAsPlainLoopsHaveThem) {
  const Made made = expect_twin_however_made(nn::Products::kFloats);
  EXPECT_EQ(made.products, nn::Products::kFloats);
  EXPECT_NE(made.implementation.find("direct_strided"), std::string::npos) << made.implementation;
}

INSTANTIATE_TEST_SUITE_P(Shapes, StridedPoints,
                         testing::Values(Case{"even", 64, 48, 8, 60, 1, 2},
                                         Case{"odd", 32, 80, 7, 59, 1, 2},
                                         Case{"no_whole_blocks", 24, 20, 9, 61, 1, 2},
                                         Case{"of_three", 32, 40, 20, 403, 1, 3},
                                         Case{"last_rows_behind", 48, 32, 12, 20, 1, 3},
                                         Case{"past_the_caches", 32, 128, 64, 130, 1, 2},
                                         Case{"strips_of_weights", 32, 48, 128, 128, 1, 2},
                                         Case{"strips_of_filled_blocks", 24, 40, 128, 128, 1, 2}),
                         [](const auto& each) { return each.param.name; });

/// Of many channels they are not made, nor of windows.
TEST(StridedPointsOfMany, AreNotMade) {
  nn::Device device;
  for (const Case& of :
       {Case{"channels", 192, 176, 8, 60, 1, 2}, Case{"windows", 32, 48, 8, 60, 3, 2},
        Case{"neighbours", 32, 48, 8, 60, 1, 1}}) {
    nn::ExecutorOptions options = residual::options_for(of.batch, of.batch);
    options.kernels = pair_kernels();
    options.arithmetic.products = nn::Products::kFloats;
    const nn::Executor executor(convolution_trial::network_of(of), options, device, nullptr);
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name != "tested") continue;
      EXPECT_EQ(layer.implementation.find("direct_strided"), std::string::npos)
          << of.name << ": " << layer.implementation;
    }
  }
}

}  // namespace
