// Rounding to bytes with a scale, for every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "workloads/kernels/usable_kernels.h"

namespace {

struct Rounded {
  std::vector<std::int8_t> bytes;
  float scale = -1.0F;
};

Rounded rounded(const nn::Kernels& kernels, const std::vector<float>& values) {
  Rounded result;
  result.bytes.assign(values.size(), 99);
  kernels.round_to_bytes(values.data(), result.bytes.data(), &result.scale,
                         static_cast<std::int64_t>(values.size()));
  return result;
}

std::vector<float> widened(const nn::Kernels& kernels, const Rounded& rounded) {
  std::vector<float> values(rounded.bytes.size(), -5.0F);
  kernels.widen_bytes(rounded.bytes.data(), rounded.scale, values.data(),
                      static_cast<std::int64_t>(values.size()));
  return values;
}

TEST(ByteRounding, TakesTheNearestMultipleOfTheScale) {
  std::mt19937 random(7);
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const std::size_t count : {1U, 2U, 15U, 16U, 17U, 31U, 33U, 255U, 256U}) {
      for (const float spread : {1e-25F, 1e-6F, 1.0F, 1e30F}) {
        std::normal_distribution<float> normal(0.0F, spread);
        std::vector<float> values(count);
        for (float& value : values) value = normal(random);
        float most = 0.0F;
        for (const float value : values) most = std::max(most, std::abs(value));
        const Rounded found = rounded(*kernels, values);
        ASSERT_EQ(found.scale, most / 127.0F);
        const std::vector<float> back = widened(*kernels, found);
        for (std::size_t i = 0; i < count; ++i) {
          // A plain twin, which may decide between two multiples that are nearly as near in another
          // way.
          const double multiple = double{values[i]} / double{found.scale};
          ASSERT_LE(std::abs(static_cast<double>(found.bytes[i]) - multiple), 0.5 + 1e-4)
              << i << " of " << count;
          ASSERT_EQ(back[i], found.scale * static_cast<float>(found.bytes[i]));
        }
      }
    }
  }
}

TEST(ByteRounding, KeepsTheLargestOfEitherSign) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const float most : {3.0F, 1.17e-3F, 3.4e38F, 2e-30F}) {
      const Rounded found = rounded(*kernels, {most, -most, 0.0F, -0.0F, most / 2.0F});
      EXPECT_EQ(found.bytes[0], 127);
      EXPECT_EQ(found.bytes[1], -127);
      EXPECT_EQ(found.bytes[2], 0);
      EXPECT_EQ(found.bytes[3], 0);
      EXPECT_NEAR(widened(*kernels, found)[0] / most, 1.0, 1e-6);
    }
  }
}

TEST(ByteRounding, TakesWhatIsTooSmallForAScaleForZero) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const float small : {0.0F, 1e-40F, 9e-31F}) {
      const Rounded found = rounded(*kernels, std::vector<float>(20, small));
      EXPECT_EQ(found.scale, 0.0F);
      EXPECT_EQ(found.bytes, std::vector<std::int8_t>(20, 0));
    }
  }
}

TEST(ByteRounding, MakesABlockThatIsNoNumberNoNumbers) {
  for (const nn::Kernels* kernels : usable_kernels()) {
    for (const float broken : {INFINITY, -INFINITY, NAN, -NAN}) {
      for (const std::size_t place : {0U, 16U, 39U}) {
        std::vector<float> values(40, 1.0F);
        values[place] = broken;
        for (const float value : widened(*kernels, rounded(*kernels, values))) {
          EXPECT_TRUE(std::isnan(value));
        }
      }
    }
  }
}

}  // namespace
