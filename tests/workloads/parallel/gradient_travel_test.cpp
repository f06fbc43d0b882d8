// Tests of names and sizes of payloads.
#include "workloads/parallel/gradient_travel.h"

#include <gtest/gtest.h>

#include "workloads/parallel/narrow_format.h"

namespace parallel {
namespace {

TEST(GradientTravel, IsDescribedUnlessItIsExact) {
  EXPECT_EQ(description_of({}), "");
  EXPECT_EQ(description_of({.payload = GradientPayload::kBf16}), "bf16 with error feedback");
  EXPECT_EQ(description_of({.payload = GradientPayload::kInt8, .error_feedback = false}),
            "int8 without error feedback");
  EXPECT_EQ(description_of({.payload = GradientPayload::kTopK, .density = 0.001}),
            "top_k 0.001 with error feedback");
}

TEST(GradientTravel, KeepsARestUnlessItIsExactOrToldNotTo) {
  EXPECT_FALSE(GradientTravel{}.keeps_rest());
  EXPECT_TRUE(GradientTravel{.payload = GradientPayload::kTopK}.keeps_rest());
  EXPECT_FALSE(
      (GradientTravel{.payload = GradientPayload::kTopK, .error_feedback = false}).keeps_rest());
}

TEST(GradientTravel, SendsOneValueAtLeast) {
  EXPECT_EQ(top_k_of(0.01, 1000), 10);
  EXPECT_EQ(top_k_of(0.01, 1001), 11);
  EXPECT_EQ(top_k_of(0.01, 3), 1);
  EXPECT_EQ(top_k_of(1.0, 3), 3);
}

TEST(NarrowFormat, HasAScaleForEachBlockOfBytes) {
  for (const auto& [count, bytes] :
       {std::pair{1, 5}, {255, 259}, {256, 260}, {257, 265}, {1024, 1040}}) {
    EXPECT_EQ(narrow_bytes(GradientPayload::kInt8, count), bytes);
  }
}

/// Parts of whole blocks may be written and read apart.
TEST(NarrowFormat, ReadsWhatItWrote) {
  constexpr std::int64_t kCount = 3 * kFormatBlock + 7;
  const nn::Kernels& kernels = nn::kernels(base::InstructionSet::kBaseline);
  for (const GradientPayload payload : {GradientPayload::kBf16, GradientPayload::kInt8}) {
    const auto format = narrow_format(payload, kernels);
    std::vector<float> values, read(kCount), expected(kCount);
    for (std::int64_t i = 0; i < kCount; ++i) {
      values.push_back(static_cast<float>(i % 255 - 127) * (i < kFormatBlock ? 1.0F : 4.0F));
    }
    values.back() = 4.0F * 127.0F;  // so that the last block, too, has multiples of its scale
    std::vector<std::byte> bytes(static_cast<std::size_t>(format->bytes(kCount)));
    format->write(values.data(), kCount, bytes.data());
    format->read(bytes.data(), kFormatBlock, read.data());
    format->read(bytes.data() + format->bytes(kFormatBlock), kCount - kFormatBlock,
                 read.data() + kFormatBlock);
    EXPECT_EQ(read, values) << "whole multiples of the scale";
  }
}

}  // namespace
}  // namespace parallel
