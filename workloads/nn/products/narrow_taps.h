// Transposed convolutions to few channels as products of points with all taps of all channels:
// where each product goes. Hides edges, and where products meet.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"

namespace nn {

class NarrowTaps {
 public:
  NarrowTaps(const Operation& operation, const SampleShape& src);
  /// Products of a source point: [channel][tap].
  std::int64_t outputs() const { return static_cast<std::int64_t>(outputs_.size()); }

  /// Rows [begin, end).
  struct Rows {
    std::int64_t begin = 0, end = 0;
  };
  /// Rows of the source whose products go to these of the destination.
  Rows sources_of(const Rows& destination) const;
  /// A row of the destination, of one channel, of a sample's products, which stand as `layout` has
  /// them, those of row `first` of the source at `products`. dst [width]
  void add(std::int64_t row, std::int64_t channel, const float* products, std::int64_t first,
           const ChannelLayout& layout, float* dst) const;

  /// Of the memory that gradients_of() works in.
  std::int64_t scratch_numbers() const;
  /// rows[i] [columns]: the gradients of product i of a row of the source's points, in `scratch` or
  /// of this object. diff_dst: a sample's, [channels][height][width].
  void gradients_of(std::int64_t row, const float* diff_dst, float* scratch,
                    const float** rows) const;

 private:
  /// A source row and the row of taps by which it meets a destination row.
  struct Meeting {
    std::int64_t point, tap;
  };
  /// A product: its channel, and its place in the destination, beside `stride` times the source
  /// point: a row, and a column of which `phase` is what the stride does not pass over.
  struct Output {
    std::int64_t channel, row, shift, phase;
  };
  void find_outputs();
  void find_meetings();
  std::int64_t phase_numbers() const { return src_shape_.spatial[1] + last_shift_ - first_shift_; }
  void part(const float* diff_dst, float* phases) const;

  const Operation operation_;
  const SampleShape src_shape_;
  const std::int64_t taps_;  ///< of a channel
  std::vector<Output> outputs_;
  std::int64_t first_shift_ = 0, last_shift_ = 0;
  std::vector<std::vector<Meeting>> rows_;  ///< by destination row
  std::vector<float> zeros_;                ///< a row's
};

}  // namespace nn
