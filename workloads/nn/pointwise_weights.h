// A layer's use of PointwiseGradient: where operands stand, and which source points a stride takes.
// Hides the copy of those points.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/pointwise_gradient.h"

namespace nn {

class PointwiseWeights {
 public:
  /// What a convolution gives and takes, in its layouts.
  struct Operands {
    dnnl::memory::desc src, dst, weights;
  };
  /// Whether this computes the operation's gradient of weights: kernels of one point without
  /// padding, all of it in bfloat16, in the order of the product.
  static bool applies(const Operation& operation, const Operands& operands, const Planner& planner);
  /// `src`: where the backward pass finds the source.
  void plan(Planner& planner, const Operation& operation, std::int64_t channels,
            const ValuePlace& src);
  bool planned() const { return product_.has_value(); }
  void bind(const Arena& arena, BufferId diff_dst);
  /// diff_weights = the gradient over these samples, or += with `add`.
  void run(const Samples& samples, float* diff_weights, bool add);

 private:
  const Bf16* taken_source(const Samples& samples);

  std::optional<PointwiseGradient> product_;
  std::int64_t in_ = 0, out_ = 0, points_ = 0, src_points_ = 0;
  std::vector<std::int64_t> taken_;  ///< source point of each destination point; empty: all of them
  ValuePlace src_place_;
  BufferId scratch_buffer_ = -1, taken_buffer_ = -1;
  std::uint32_t* scratch_ = nullptr;
  Bf16* taken_values_ = nullptr;  ///< [samples of a slice][in / 16][points][16]
  const Bf16* src_ = nullptr;
  const Bf16* diff_dst_ = nullptr;
};

}  // namespace nn
