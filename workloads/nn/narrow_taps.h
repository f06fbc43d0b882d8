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

  /// A row of the destination, of one channel, of a sample's products, which stand as `layout` has
  /// them. dst [width]
  void add(std::int64_t row, std::int64_t channel, const float* products,
           const ChannelLayout& layout, float* dst) const;

  /// Neighbouring points [begin, end) of a row of the source.
  struct Points {
    std::int64_t row, begin, end;
  };
  /// How many of them stay in the nearest cache with their products.
  static constexpr std::int64_t kPiece = 56;
  /// What the gradients of products [first, end) are: values [points][step], zeros behind the
  /// products. diff_dst: a sample's, [channels][height][width].
  void spread(const Points& points, std::int64_t first, std::int64_t end, const float* diff_dst,
              float* values, std::int64_t step) const;

 private:
  /// A source row and the row of taps by which it meets a destination row.
  struct Meeting {
    std::int64_t point, tap;
  };
  /// A product: from where in the destination, beside `stride` times the source point, it goes to
  /// which channel; and which of a row's points do so within the destination.
  struct Output {
    std::int64_t channel, row, column, first, end;
  };
  void find_outputs();
  void find_meetings();

  const Operation operation_;
  const SampleShape src_shape_;
  const std::int64_t taps_;  ///< of a channel
  std::vector<Output> outputs_;
  std::vector<std::vector<Meeting>> rows_;  ///< by destination row
};

}  // namespace nn
