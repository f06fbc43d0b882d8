// Source gradient of strided 1x1 convolutions in bfloat16, of images with channels last: oneDNN
// computes the gradient of the strided pixels as a product without stride, and zeros are written
// between them.
// Hides the compact image of the strided pixels.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/product.h"

namespace nn {

class GappedGradient final : public Product {
 public:
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// Plans for the backward pass of the planner's current operation. Reads `diff_dst`, writes
  /// `diff_src`.
  GappedGradient(Planner& planner, const ConvolutionProblem& problem,
                 const ConvolutionLayouts& layouts, const ValuePlace& diff_dst, BufferId diff_src);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;
  std::int64_t reorders() const override { return product_.reorders(); }
  std::vector<const SlicedPrimitive*> primitives() const override { return {&product_}; }

 private:
  void write_row(std::int64_t sample, std::int64_t row, const Bf16* seen, Bf16* spaced) const;

  SampleShape image_;                   ///< of the source
  std::int64_t rows_ = 0, points_ = 0;  ///< strided rows, and strided pixels of such a row
  std::int64_t apart_ = 1;
  int threads_ = 1;
  Stores stores_ = Stores::kCached;
  ParameterId parameter_ = -1;
  ValuePlace diff_dst_place_;
  BufferId diff_src_buffer_ = -1, seen_buffer_ = -1, spaced_buffer_ = -1;
  SlicedPrimitive product_;
  const Kernels* kernels_ = nullptr;
  const Bf16* seen_ = nullptr;  ///< [samples of a slice][rows][points][channels]
  Bf16* spaced_ = nullptr;      ///< [threads][a row of the source]
  Bf16* diff_src_ = nullptr;
  std::vector<Bf16> zeros_;  ///< a row of the source
};

}  // namespace nn
