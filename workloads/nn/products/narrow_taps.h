// Transposed convolutions to few channels as products of source pixels with all taps of all
// channels: which destination pixel each product is added to. Hides the image's edges, and where
// products overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"

namespace nn {

class NarrowTaps {
 public:
  NarrowTaps(const Operation& operation, const SampleShape& src);
  /// Products of a source pixel: [channel][tap].
  std::int64_t outputs() const { return static_cast<std::int64_t>(outputs_.size()); }

  /// Rows [begin, end).
  struct Rows {
    std::int64_t begin = 0, end = 0;
  };
  /// Source rows whose products are added to these destination rows.
  Rows sources_of(const Rows& destination) const;
  /// Sums row `row` of a channel of a sample's destination, dst [width]. `products`, laid out as
  /// `layout`, begin with those of source row `first`.
  void add(std::int64_t row, std::int64_t channel, const float* products, std::int64_t first,
           const ChannelLayout& layout, float* dst) const;

  /// Floats of the memory that gradients_of() works in.
  std::int64_t scratch_numbers() const;
  /// Sets rows[i] to the gradients [columns] of product i of source row `row`, in `scratch` or in
  /// this object. diff_dst [channels][height][width]: a sample's.
  void gradients_of(std::int64_t row, const float* diff_dst, float* scratch,
                    const float** rows) const;

 private:
  /// A source row, and the row of taps that maps it to a destination row.
  struct Meeting {
    std::int64_t point, tap;
  };
  /// A product: its channel, and its place in the destination relative to `stride` times the source
  /// pixel: `row` rows down and shift * stride + phase columns to the right, 0 <= phase < stride.
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
  std::vector<float> zeros_;                ///< a row of zeros
};

}  // namespace nn
