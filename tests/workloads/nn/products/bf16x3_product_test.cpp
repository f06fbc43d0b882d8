// Compares convolutions of floats by the bf16x3 split with plain loops.
#include <gtest/gtest.h>

#include <string>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/products/convolution_trial.h"

namespace {

using convolution_trial::Case;
using convolution_trial::Made;

class Parts : public convolution_trial::Trial {};

/// The second layer's weights gradient is computed from the source gradient of the tested layer.
TEST_P(Parts, AreAsPlainLoopsHaveThem) {
  const bool is_emulated = base::usable_instruction_set() < base::InstructionSet::kAvx512;
  constexpr std::int64_t kMostMacs = 250'000'000;  // some seconds in plain loops
  if (is_emulated && net_.training_macs(tested()) > kMostMacs) {
    GTEST_SKIP() << "needs avx512: takes long in plain loops";
  }
  Made parts;
  if (is_emulated) {  // oneDNN's products in the network depend on slices here
    parts = made(nn::Products::kFaster);
    expect_twin(parts, twin(), 1.0);
  } else {
    parts = expect_twin_however_made(nn::Products::kFaster);
    EXPECT_EQ(made(nn::Products::kFaster, 1).outputs, parts.outputs);
  }
  EXPECT_EQ(parts.products, nn::Products::kPairs);
  EXPECT_NE(parts.implementation.find("bf16x3"), std::string::npos) << parts.implementation;
  const bool is_all_own = GetParam().kernel == 1 && GetParam().stride == 1;
  EXPECT_EQ(parts.implementation == "bf16x3", is_all_own) << parts.implementation;
}

TEST_P(Parts, AreNotMadeOfFloatsThatAreWanted) {
  const Made floats = made(nn::Products::kFloats);
  EXPECT_EQ(floats.products, nn::Products::kFloats);
  EXPECT_EQ(floats.implementation.find("bf16x3"), std::string::npos) << floats.implementation;
}

TEST(PartsOfFew, AreNotMade) {
  nn::Device device;
  // Few channels; and rows that would leave most of their tiles empty.
  for (const Case& of :
       {Case{"channels", 48, 64, 6, 30, 3, 1}, Case{"columns", 160, 160, 7, 7, 3, 1}}) {
    const nn::Executor executor(convolution_trial::network_of(of),
                                residual::options_for(of.batch, of.batch), device, nullptr);
    EXPECT_EQ(executor.products(), nn::Products::kFloats) << of.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Parts,
    testing::Values(
        Case{"points", 176, 160, 9, 11, 1, 1}, Case{"odd_channels", 184, 200, 7, 7, 1, 1},
        Case{"points_past_the_caches", 176, 176, 24, 47, 1, 1, false, 3},
        Case{"many_channels", 1592, 96, 4, 9, 1, 1}, Case{"points_of_two", 208, 160, 6, 60, 1, 2},
        Case{"points_of_two_odd", 512, 72, 7, 59, 1, 2},
        Case{"few_channels_of_points_of_two", 1000, 36, 9, 61, 1, 2},
        Case{"wide_points_of_three", 840, 40, 8, 403, 1, 3}, Case{"windows", 160, 176, 7, 30, 3, 1},
        Case{"wide_windows", 168, 160, 5, 131, 3, 1},
        Case{"windows_past_the_caches", 160, 176, 24, 66, 3, 1},
        Case{"large_windows", 160, 160, 9, 13, 5, 1}, Case{"windows_of_two", 160, 168, 9, 28, 3, 2},
        Case{"windows_of_three", 160, 168, 10, 43, 5, 3},
        Case{"many_channels_of_windows", 808, 96, 6, 14, 3, 1},
        Case{"many_channels_of_windows_of_two", 808, 96, 5, 27, 3, 2},
        Case{"transposed", 168, 160, 9, 13, 3, 2, true},
        Case{"odd_transposed", 168, 160, 5, 14, 3, 2, true, 2, 1},
        Case{"single_taps_transposed", 168, 160, 5, 14, 2, 2, true},
        Case{"many_channels_transposed", 808, 96, 4, 15, 3, 2, true},
        Case{"wide_transposed", 160, 160, 4, 115, 3, 2, true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
