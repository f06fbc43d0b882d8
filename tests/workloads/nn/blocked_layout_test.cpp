// BlockedLayout against oneDNN's descriptors.
#include "workloads/optimizer/blocked_layout.h"

#include <gmock/gmock.h>

#include "runner/base/error.h"
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

TEST(BlockedLayouts, HaveTheBytesOfTheirDescriptors) {
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
    EXPECT_EQ(nn::layout_of(desc)->bytes(), static_cast<std::int64_t>(desc.get_size()));
  }
}

TEST(BatchLayouts, HoldOtherSamplesAndTypes) {
  const auto of = [](std::int64_t samples, Type type, Tag tag) {
    return memory::desc({samples, 20, 3, 5}, type, tag);
  };
  for (const Tag tag : {Tag::nchw, Tag::nhwc, Tag::nChw4c, Tag::nChw8c, Tag::nChw16c}) {
    const memory::desc two = of(2, Type::f32, tag);
    EXPECT_EQ(nn::with_samples(two, 7), of(7, Type::f32, tag));
    EXPECT_EQ(nn::retyped(two, Type::bf16), of(2, Type::bf16, tag));
    EXPECT_EQ(nn::sample_bytes(two), static_cast<std::int64_t>(two.get_size() / 2));
  }
  EXPECT_EQ(nn::with_samples({{4, 6}, Type::u8, memory::dims{10, 1}}, 3),
            memory::desc({3, 6}, Type::u8, memory::dims{10, 1}));
  const memory::desc volumes({2, 32, 4, 4, 4}, Type::f32, Tag::nCdhw16c);
  EXPECT_EQ(nn::with_samples(volumes, 1), memory::desc({1, 32, 4, 4, 4}, Type::f32, Tag::nCdhw16c));
}

TEST(BatchLayouts, AreRefusedWhereTheyMixSamplesOrBlockOtherAxes) {
  EXPECT_THROW(nn::with_samples({{16, 20, 3, 5}, Type::f32, Tag::chwn}, 2), base::ShapeError);
  EXPECT_THROW(nn::with_samples({{16, 32, 3, 5}, Type::f32, Tag::NChw16n16c}, 2), base::ShapeError);
  EXPECT_THROW(nn::retyped({{32, 32, 3, 5}, Type::f32, Tag::aBCd16b16c}, Type::bf16),
               base::ShapeError);
  EXPECT_THROW(nn::with_samples(nn::any_desc({2, 3}), 1), base::ShapeError);
}

TEST(BlockedLayouts, AreNoneWhereTheLibraryMayChoose) {
  EXPECT_FALSE(nn::layout_of(nn::any_desc({2, 3})).has_value());
}

}  // namespace
