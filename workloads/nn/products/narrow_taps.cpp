#include "workloads/nn/products/narrow_taps.h"

#include <algorithm>
#include <array>

#include "runner/base/ceil_div.h"

namespace nn {
namespace {

/// Elements of one phase of a destination row that are summed at a time, in the L1 cache.
constexpr std::int64_t kTogether = 1024;

/// column / stride, rounded down; `column` may be negative.
std::int64_t strides_before(std::int64_t column, std::int64_t stride) {
  return column >= 0 ? column / stride : -((stride - 1 - column) / stride);
}

}  // namespace

NarrowTaps::NarrowTaps(const Operation& operation, const SampleShape& src)
    : operation_(operation),
      src_shape_(src),
      taps_(operation.kernel[0] * operation.kernel[1]),
      zeros_(static_cast<std::size_t>(src.spatial[1])) {
  find_outputs();
  find_meetings();
}

void NarrowTaps::find_outputs() {
  const std::int64_t stride = operation_.stride[1];
  for (std::int64_t i = 0; i < operation_.dst.channels * taps_; ++i) {
    const std::int64_t tap = i % taps_;
    const std::int64_t column = tap % operation_.kernel[1] - operation_.padding.begin[1];
    const std::int64_t shift = strides_before(column, stride);
    outputs_.push_back({i / taps_, tap / operation_.kernel[1] - operation_.padding.begin[0], shift,
                        column - shift * stride});
    first_shift_ = std::min(first_shift_, shift);
    last_shift_ = std::max(last_shift_, shift);
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

NarrowTaps::Rows NarrowTaps::sources_of(const Rows& destination) const {
  Rows met = {src_shape_.spatial[0], 0};
  for (std::int64_t row = destination.begin; row < destination.end; ++row) {
    for (const Meeting& line : rows_[static_cast<std::size_t>(row)]) {
      met.begin = std::min(met.begin, line.point);
      met.end = std::max(met.end, line.point + 1);
    }
  }
  return met.begin < met.end ? met : Rows{};
}

void NarrowTaps::add(std::int64_t row, std::int64_t channel, const float* products,
                     std::int64_t first_row, const ChannelLayout& layout, float* dst) const {
  const std::int64_t width = operation_.dst.spatial[1], stride = operation_.stride[1];
  const std::int64_t columns = src_shape_.spatial[1], step = layout.row_stride;
  for (std::int64_t begin = 0; begin * stride < width; begin += kTogether) {
    for (std::int64_t phase = 0; phase < stride; ++phase) {
      std::array<float, kTogether> sums = {};
      for (const Meeting& line : rows_[static_cast<std::size_t>(row)]) {
        const std::int64_t first_tap = channel * taps_ + line.tap * operation_.kernel[1];
        for (std::int64_t i = first_tap; i < first_tap + operation_.kernel[1]; ++i) {
          const Output& output = outputs_[static_cast<std::size_t>(i)];
          if (output.phase != phase) continue;
          // Source columns whose products are added to these elements.
          const std::int64_t first = std::max<std::int64_t>(begin - output.shift, 0);
          const std::int64_t end = std::min(begin + kTogether - output.shift, columns);
          const float* const from = products + layout.offset(0, i / layout.width) +
                                    i % layout.width + (line.point - first_row) * columns * step;
          const std::int64_t apart = output.shift - begin;
          const auto add_all = [&](std::int64_t from_step) {
            for (std::int64_t x = first; x < end; ++x) {
              sums[static_cast<std::size_t>(x + apart)] += from[x * from_step];
            }
          };
          step == 1 ? add_all(1) : add_all(step);
        }
      }
      const std::int64_t behind = base::ceil_div(width - phase, stride);
      const std::int64_t count = std::min(behind - begin, kTogether);
      float* const to = dst + begin * stride + phase;
      for (std::int64_t i = 0; i < count; ++i) to[i * stride] = sums[static_cast<std::size_t>(i)];
    }
  }
}

std::int64_t NarrowTaps::scratch_numbers() const {
  return operation_.dst.channels * operation_.kernel[0] * operation_.stride[1] * phase_numbers();
}

/// Splits a row of the destination's gradient into [stride] phases of phase_numbers() elements,
/// from first_shift_ on; zeros outside the row.
void NarrowTaps::part(const float* diff_dst, float* phases) const {
  const std::int64_t width = operation_.dst.spatial[1], stride = operation_.stride[1];
  for (std::int64_t phase = 0; phase < stride; ++phase, phases += phase_numbers()) {
    const std::int64_t there = base::ceil_div(width - phase, stride);
    const std::int64_t count = std::clamp<std::int64_t>(there, 0, phase_numbers() + first_shift_);
    std::fill_n(phases, -first_shift_, 0.0F);
    float* const to = phases - first_shift_;
    const float* const from = diff_dst + phase;
    const auto take_all = [=](std::int64_t step) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    };
    // Compilers vectorise loops of a constant step.
    stride == 2 ? take_all(2) : take_all(stride);
    std::fill(to + count, phases + phase_numbers(), 0.0F);
  }
}

void NarrowTaps::gradients_of(std::int64_t row, const float* diff_dst, float* scratch,
                              const float** rows) const {
  const std::int64_t height = operation_.dst.spatial[0], width = operation_.dst.spatial[1];
  const std::int64_t phases = operation_.stride[1] * phase_numbers();
  for (std::int64_t i = 0; i < outputs(); ++i) {
    const Output& output = outputs_[static_cast<std::size_t>(i)];
    const std::int64_t to = row * operation_.stride[0] + output.row;
    const bool is_there = to >= 0 && to < height;
    float* const parted = scratch + i / operation_.kernel[1] * phases;
    if (is_there && i % operation_.kernel[1] == 0) {
      part(diff_dst + (output.channel * height + to) * width, parted);
    }
    rows[i] = is_there ? parted + output.phase * phase_numbers() + output.shift - first_shift_
                       : zeros_.data();
  }
}

}  // namespace nn
