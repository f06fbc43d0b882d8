// Rounding to bfloat16, for every instruction set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "runner/base/system_facts.h"
#include "workloads/kernels/plain_bf16.h"
#include "workloads/kernels/usable_kernels.h"

namespace {

std::uint16_t rounded(const nn::Kernels& kernels, float value) {
  nn::Bf16 one;
  kernels.round_to_bf16(&value, &one, 1);
  return one.bits;
}

TEST(Rounding, IsThatOfThePlainTwin) {
  std::vector<float> values = {0.0F, -0.0F, 1.0F, -1.0F, 3.0e38F, 1.2e-38F, INFINITY, -INFINITY};
  for (std::uint32_t bits = 0x3F800000; bits < 0x3F830000; bits += 0x1000) {  // includes ties
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-std::bit_cast<float>(bits + 1));
  }
  for (const nn::Kernels* kernels : usable_kernels()) {
    std::vector<nn::Bf16> found(values.size());
    kernels->round_to_bf16(values.data(), found.data(), static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(found[i].bits, plain::bf16_bits(values[i])) << values[i];
      EXPECT_EQ(rounded(*kernels, values[i]), found[i].bits) << values[i];
    }
  }
}

TEST(Rounding, KeepsWhatIsNoNumber) {
  const auto no_number = std::bit_cast<float>(0x7F800001U);  // its upper half is that of infinity
  for (const nn::Kernels* kernels : usable_kernels()) {
    const std::uint32_t bits = rounded(*kernels, no_number);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits << 16U)));
  }
}

TEST(Rounding, TakesNumbersTooSmallToBeNormalForZeroByTheProcessorAlone) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    const bool by_processor = kernels->has_pairs();
    for (const float small : {1.0e-38F, 1.0e-40F}) {
      EXPECT_EQ(rounded(*kernels, small), by_processor ? 0 : plain::bf16_bits(small));
      EXPECT_EQ(rounded(*kernels, -small), by_processor ? 0x8000 : plain::bf16_bits(-small));
    }
  }
}

}  // namespace
