// Activations as columns of channels.
// Hides nothing.
#include <gtest/gtest.h>

#include <vector>

#include "workloads/nn/onednn.h"

namespace {

using nn::ChannelLayout;

ChannelLayout channels_last(std::int64_t channels) {
  return nn::channel_layout(nn::channels_last_desc({2, channels, 3, 5}));
}

std::vector<int> widths(const ChannelLayout& layout) {
  std::vector<int> all;
  for (std::int64_t block = 0; block < layout.blocks; ++block) {
    all.push_back(layout.column(block).width);
  }
  return all;
}

TEST(ChannelLayout, PutsChannelsThatAreLastInWideColumns) {
  EXPECT_EQ(widths(channels_last(40)), (std::vector<int>{16, 16, 8}));
  EXPECT_EQ(widths(channels_last(40).in_wide_columns(1)), (std::vector<int>{40}));
  EXPECT_EQ(widths(channels_last(728).in_wide_columns(1)), (std::vector<int>{728}));
  EXPECT_EQ(widths(channels_last(728).in_wide_columns(2)), (std::vector<int>{384, 344}));
  EXPECT_EQ(widths(channels_last(2048).in_wide_columns(1)), (std::vector<int>{1024, 1024}));
  EXPECT_EQ(widths(channels_last(2048).in_wide_columns(3)), (std::vector<int>{704, 704, 640}));
  EXPECT_EQ(widths(channels_last(100).in_wide_columns(4)), (std::vector<int>{64, 36}));
}

TEST(ChannelLayout, FindsAChannelInAWideColumnWhereItWas) {
  const ChannelLayout narrow = channels_last(728), wide = narrow.in_wide_columns(2);
  EXPECT_EQ(wide.offset(1, 1), narrow.offset(1, 384 / 16));
  EXPECT_EQ(wide.column(1).stride, 728);
  EXPECT_EQ(wide.column(1).rows, 15);
  EXPECT_GE(wide.padded_channels(), 728);
}

TEST(ChannelLayout, LeavesOtherLayoutsAndFewChannelsInTheirColumns) {
  for (const std::int64_t channels : {5, 16}) {
    const ChannelLayout layout = channels_last(channels);
    EXPECT_EQ(widths(layout.in_wide_columns(1)), widths(layout));
  }
  using Tag = dnnl::memory::format_tag;
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nchw}) {
    const ChannelLayout layout =
        nn::channel_layout({{2, 48, 3, 5}, dnnl::memory::data_type::f32, tag});
    EXPECT_EQ(widths(layout.in_wide_columns(1)), widths(layout));
  }
}

}  // namespace
