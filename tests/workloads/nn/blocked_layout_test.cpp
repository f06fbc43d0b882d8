// BlockedLayout against oneDNN's descriptors.
#include "workloads/optimizer/blocked_layout.h"

#include <gmock/gmock.h>

#include "workloads/nn/onednn.h"

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

TEST(BlockedLayouts, SayWhatDescriptorsDo) {
  const nn::BlockedLayout layout =
      *nn::layout_of(memory::desc({32, 20, 3, 3}, Type::bf16, Tag::OIhw8i16o2i));
  EXPECT_EQ(layout.type, nn::ElementType::kBf16);
  EXPECT_THAT(layout.dims, testing::ElementsAre(32, 20, 3, 3));
  EXPECT_THAT(layout.padded, testing::ElementsAre(32, 32, 3, 3));
  EXPECT_THAT(layout.strides, testing::ElementsAre(2 * 9 * 256, 9 * 256, 3 * 256, 256));
  const std::vector<nn::BlockedLayout::Block> blocks = {{1, 8}, {0, 16}, {1, 2}};
  EXPECT_EQ(layout.blocks, blocks);
  EXPECT_EQ(layout.block_extent(0), 16);
  EXPECT_EQ(layout.block_extent(1), 16);
  EXPECT_EQ(layout.block_extent(2), 1);
}

TEST(BlockedLayouts, BecomeTheSameDescriptorsAgain) {
  const memory::desc descs[] = {
      {{5, 7}, Type::f32, Tag::ab},
      {{5, 7}, Type::f32, Tag::ba},
      {{2, 20, 3, 5}, Type::f32, Tag::nChw16c},
      {{2, 20, 3, 5}, Type::bf16, Tag::nhwc},
      {{32, 48, 3, 3, 2}, Type::f32, Tag::OIdhw16i16o},
      {{96, 40, 1, 1}, Type::bf16, Tag::OhwI16i32o2i},
      {{4, 6}, Type::f32, {10, 1}},  // rows with gaps
  };
  for (const memory::desc& desc : descs) {
    const nn::BlockedLayout layout = *nn::layout_of(desc);
    EXPECT_EQ(nn::desc_of(layout), desc);
    EXPECT_EQ(layout.bytes(), static_cast<std::int64_t>(desc.get_size()));
  }
}

TEST(BlockedLayouts, AreNoneWhereTheLibraryMayChoose) {
  EXPECT_FALSE(nn::layout_of(nn::any_desc({2, 3})).has_value());
}

}  // namespace
