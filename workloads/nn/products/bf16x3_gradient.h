// Weights gradient of 1x1 convolutions of floats, by the bf16x3 split in AMX tiles, as
// Bf16x3Product.
// Hides how pixels are cut into pieces that fit the caches, and how threads share the work.
#pragma once

#include <cstdint>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/product.h"
#include "workloads/nn/products/weights_split.h"

namespace nn {

/// Computes diff_weights [out / 16][in / 16][16 of in][16 of out] from sources and destination
/// gradients [samples][channels / 16][pixels][16].
class Bf16x3Gradient final : public Product {
 public:
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// Plans for the backward pass of the planner's current operation.
  Bf16x3Gradient(Planner& planner, const ConvolutionProblem& problem, const ValuePlace& src,
                 const ValuePlace& diff_dst);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;

 private:
  std::int64_t scratch_words() const;
  void run_part(const WeightsSplit::Part& part, const Samples& samples, float* diff_weights,
                bool add, std::uint32_t* scratch) const;

  std::int64_t points_ = 0;        ///< pixels of a sample
  std::int64_t in_ = 0, out_ = 0;  ///< blocks of 16 channels
  WeightsSplit split_;
  ValuePlace src_place_, diff_dst_place_;
  BufferId scratch_buffer_ = -1;
  const Kernels* kernels_ = nullptr;
  const float* src_ = nullptr;
  const float* diff_dst_ = nullptr;
  ParameterId weights_ = -1;
  float* diff_weights_ = nullptr;
  std::uint32_t* scratch_ = nullptr;
};

}  // namespace nn
