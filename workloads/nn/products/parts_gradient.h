// The gradient of weights of single points on floats, each float in three parts in the CPU's matrix
// tiles, as PartsProduct.
// Hides how points are cut into pieces that fit the caches, and shared out among threads.
#pragma once

#include <cstdint>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/parts_suits.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {

/// diff_weights [out / 16][in / 16][16 of in][16 of out], of sources and gradients of destinations
/// [samples][channels / 16][points][16].
class PartsGradient {
 public:
  /// Whether it is faster so than the library's.
  static bool suits(const ConvolutionProblem& problem, const dnnl::memory::desc& src,
                    const dnnl::memory::desc& dst, const Planner& planner);
  /// Of a problem that suits, in the backward pass of the operation at hand.
  void plan(Planner& planner, const ConvolutionProblem& problem, const ValuePlace& src,
            const ValuePlace& diff_dst);
  bool planned() const { return points_ > 0; }
  void bind(const Arena& arena, const Kernels& kernels);
  /// diff_weights = the gradient over these samples, or += with `add`.
  void run(const Samples& samples, float* diff_weights, bool add) const;

 private:
  std::int64_t scratch_words() const;
  void run_part(const WeightsSplit::Part& part, const Samples& samples, float* diff_weights,
                bool add, std::uint32_t* scratch) const;

  std::int64_t points_ = 0;        ///< of a sample
  std::int64_t in_ = 0, out_ = 0;  ///< blocks of 16 channels
  WeightsSplit split_;
  ValuePlace src_place_, diff_dst_place_;
  BufferId scratch_buffer_ = -1;
  const Kernels* kernels_ = nullptr;
  const float* src_ = nullptr;
  const float* diff_dst_ = nullptr;
  std::uint32_t* scratch_ = nullptr;
};

}  // namespace nn
