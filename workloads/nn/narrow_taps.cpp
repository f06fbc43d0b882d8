#include "workloads/nn/narrow_taps.h"

#include <algorithm>

namespace nn {

NarrowTaps::NarrowTaps(const Operation& operation, const SampleShape& src)
    : operation_(operation), src_shape_(src), taps_(operation.kernel[0] * operation.kernel[1]) {
  find_outputs();
  find_meetings();
}

void NarrowTaps::find_outputs() {
  const std::int64_t width = operation_.dst.spatial[1], stride = operation_.stride[1];
  for (std::int64_t i = 0; i < operation_.dst.channels * taps_; ++i) {
    const std::int64_t tap = i % taps_;
    Output output = {i / taps_, tap / operation_.kernel[1] - operation_.padding.begin[0],
                     tap % operation_.kernel[1] - operation_.padding.begin[1], 0, 0};
    while (output.first * stride + output.column < 0) ++output.first;
    output.end = output.first;
    while (output.end < src_shape_.spatial[1] && output.end * stride + output.column < width) {
      ++output.end;
    }
    outputs_.push_back(output);
  }
}

void NarrowTaps::find_meetings() {
  rows_.resize(static_cast<std::size_t>(operation_.dst.spatial[0]));
  for (std::int64_t point = 0; point < src_shape_.spatial[0]; ++point) {
    for (std::int64_t tap = 0; tap < operation_.kernel[0]; ++tap) {
      const std::int64_t to = point * operation_.stride[0] - operation_.padding.begin[0] + tap;
      if (to < 0 || to >= operation_.dst.spatial[0]) continue;
      rows_[static_cast<std::size_t>(to)].push_back({point, tap});
    }
  }
}

/// Piece by piece, so that a point's products are still near when the next tap reads its own.
void NarrowTaps::add(std::int64_t row, std::int64_t channel, const float* products,
                     const ChannelLayout& layout, float* dst) const {
  const std::int64_t stride = operation_.stride[1], step = layout.row_stride;
  const std::int64_t columns = src_shape_.spatial[1];
  std::fill(dst, dst + operation_.dst.spatial[1], 0.0F);
  for (std::int64_t begin = 0; begin < columns; begin += kPiece) {
    for (const Meeting& line : rows_[static_cast<std::size_t>(row)]) {
      const std::int64_t first = channel * taps_ + line.tap * operation_.kernel[1];
      for (std::int64_t i = first; i < first + operation_.kernel[1]; ++i) {
        const Output& output = outputs_[static_cast<std::size_t>(i)];
        const float* const from = products + layout.offset(0, i / layout.width) + i % layout.width +
                                  line.point * columns * step;
        const std::int64_t end = std::min(output.end, begin + kPiece);
        for (std::int64_t x = std::max(output.first, begin); x < end; ++x) {
          dst[x * stride + output.column] += from[x * step];
        }
      }
    }
  }
}

void NarrowTaps::spread(const Points& points, std::int64_t first, std::int64_t end,
                        const float* diff_dst, float* values, std::int64_t step) const {
  const std::int64_t height = operation_.dst.spatial[0], width = operation_.dst.spatial[1];
  const std::int64_t stride = operation_.stride[1];
  std::fill(values, values + (points.end - points.begin) * step, 0.0F);
  for (std::int64_t i = first; i < end; ++i) {
    const Output& output = outputs_[static_cast<std::size_t>(i)];
    const std::int64_t to = points.row * operation_.stride[0] + output.row;
    if (to < 0 || to >= height) continue;
    const float* const from = diff_dst + (output.channel * height + to) * width + output.column;
    const std::int64_t beyond = std::min(points.end, output.end);
    for (std::int64_t x = std::max(points.begin, output.first); x < beyond; ++x) {
      values[(x - points.begin) * step + i - first] = from[x * stride];
    }
  }
}

}  // namespace nn
