// The descriptor of a volume convolution's weights.
#include "workloads/nn/products/volume_weights.h"

#include <gmock/gmock.h>

#include "workloads/nn/onednn.h"

namespace {

TEST(VolumeWeights, AreBlocksOfOutputChannelsByTap) {
  constexpr std::int64_t kIn = 4, kTap = kIn * 16;
  const auto layout = nn::layout_of(nn::volume_weights_desc({8, 8, 8, kIn, 48}));
  ASSERT_TRUE(layout.has_value());
  EXPECT_THAT(layout->dims, testing::ElementsAre(3, 3, 3, kIn, 48));
  EXPECT_EQ(layout->padded, layout->dims);
  EXPECT_THAT(layout->strides, testing::ElementsAre(9 * kTap, 3 * kTap, kTap, 16, 27 * kTap));
  EXPECT_EQ(layout->blocks, std::vector({nn::BlockedLayout::Block{4, 16}}));
  EXPECT_EQ(layout->type, nn::ElementType::kF32);
}

}  // namespace
