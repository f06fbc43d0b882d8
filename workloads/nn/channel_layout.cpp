// Activations as columns of channels.
#include <algorithm>

#include "runner/base/ceil_div.h"
#include "workloads/nn/onednn.h"

namespace nn {

ChannelLayout ChannelLayout::in_wide_columns() const {
  constexpr std::int64_t kLineChannels = 64;  // so that a column's rows are whole cache lines
  constexpr std::int64_t kPieceRows = 512;
  if (!is_last()) return *this;
  ChannelLayout wide = *this;
  wide.pieces = std::max<std::int64_t>(1, rows / kPieceRows);
  if (blocks == 1) return wide;
  const std::int64_t columns = base::ceil_div(channels, Column::kMostChannels);
  const std::int64_t lines = base::ceil_div(channels, kLineChannels);
  wide.block_stride = base::ceil_div(lines, columns) * kLineChannels;
  wide.width = static_cast<int>(wide.block_stride);
  wide.blocks = base::ceil_div(channels, wide.block_stride);
  return wide;
}

Column ChannelLayout::column(std::int64_t block) const {
  const std::int64_t left = padded ? width : channels - block * width;
  return {rows, row_stride, static_cast<int>(std::min<std::int64_t>(width, left))};
}

Column ChannelLayout::column(std::int64_t block, std::int64_t piece) const {
  Column part = column(block);
  part.rows = first_row(piece + 1) - first_row(piece);
  return part;
}

}  // namespace nn
