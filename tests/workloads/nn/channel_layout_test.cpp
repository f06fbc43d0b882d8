// Activations as columns of channels.
#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_EQ(widths(channels_last(40).in_wide_columns()), (std::vector<int>{40}));
  EXPECT_EQ(widths(channels_last(728).in_wide_columns()), (std::vector<int>{728}));
  EXPECT_EQ(widths(channels_last(2048).in_wide_columns()), (std::vector<int>{2048}));
  EXPECT_EQ(widths(channels_last(2100).in_wide_columns()), (std::vector<int>{1088, 1012}));
  EXPECT_EQ(widths(channels_last(4096).in_wide_columns()), (std::vector<int>{2048, 2048}));
}

TEST(ChannelLayout, FindsAChannelInAWideColumnWhereItWas) {
  const ChannelLayout narrow = channels_last(2100), wide = narrow.in_wide_columns();
  EXPECT_EQ(wide.offset(1, 1), narrow.offset(1, 1088 / 16));
  EXPECT_EQ(wide.column(1).stride, 2100);
  EXPECT_EQ(wide.column(1).rows, 15);
  EXPECT_GE(wide.padded_channels(), 2100);
}

TEST(ChannelLayout, CutsRowsOfWideColumnsIntoPieces) {
  for (const std::int64_t rows : {1, 1023, 1024, 1026, 221184}) {
    const ChannelLayout layout =
        nn::channel_layout(nn::channels_last_desc({2, 16, 1, rows})).in_wide_columns();
    EXPECT_EQ(layout.pieces, std::max<std::int64_t>(1, rows / 512));
    EXPECT_EQ(layout.first_row(0), 0);
    std::int64_t sum = 0;
    for (std::int64_t piece = 0; piece < layout.pieces; ++piece) {
      EXPECT_EQ(layout.first_row(piece), sum);
      EXPECT_EQ(sum % 4, 0);
      sum += layout.column(0, piece).rows;
    }
    EXPECT_EQ(sum, rows);
  }
}

TEST(ChannelLayout, LeavesOtherLayoutsAndFewChannelsInTheirColumns) {
  for (const std::int64_t channels : {5, 16}) {
    const ChannelLayout layout = channels_last(channels);
    EXPECT_EQ(widths(layout.in_wide_columns()), widths(layout));
  }
  using FormatTag = dnnl::memory::format_tag;
  for (const FormatTag tag : {FormatTag::nChw16c, FormatTag::nChw8c, FormatTag::nchw}) {
    const ChannelLayout layout =
        nn::channel_layout({{2, 48, 3, 5}, dnnl::memory::data_type::f32, tag});
    EXPECT_EQ(widths(layout.in_wide_columns()), widths(layout));
  }
}

}  // namespace
