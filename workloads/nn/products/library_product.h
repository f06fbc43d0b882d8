// Products of a convolution by oneDNN, on values as they are stored.
#pragma once

#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/product.h"

namespace nn {

/// The forward product, with the bias if present, or the source gradient.
class LibraryProduct final : public Product {
 public:
  /// `src` and `dst`: places of the source and the destination, or of their gradients. `moment`:
  /// that of all slices. `scratch_of`: a primitive whose scratchpad is shared, or null.
  LibraryProduct(Planner& planner, ConvolutionProduct product, const ConvolutionProblem& problem,
                 const ConvolutionLayouts& layouts, const Slices& slices, int moment,
                 const ValuePlace& src, const ValuePlace& dst,
                 const SlicedPrimitive* scratch_of = nullptr);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;
  std::int64_t reorders() const override { return primitive_.reorders(); }
  std::vector<const SlicedPrimitive*> primitives() const override { return {&primitive_}; }

 private:
  void plan_forward(Planner& planner, const ConvolutionProblem& problem,
                    const ConvolutionLayouts& layouts, const Slices& slices, int moment);
  ConvolutionProduct product_;
  ParameterId weights_ = -1, bias_ = -1;
  ValuePlace src_, dst_;
  SlicedPrimitive primitive_;
};

/// The gradient of the weights.
class LibraryWeights final : public Product {
 public:
  /// Plans for the backward pass of the planner's current operation.
  LibraryWeights(Planner& planner, const ConvolutionProblem& problem,
                 const ConvolutionLayouts& layouts, const ValuePlace& src,
                 const ValuePlace& diff_dst);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;
  std::int64_t reorders() const override { return primitive_.reorders(); }
  std::vector<const SlicedPrimitive*> primitives() const override { return {&primitive_}; }

 private:
  ParameterId weights_ = -1;
  ValuePlace src_, diff_dst_;
  SlicedPrimitive primitive_;
  GradientTarget target_;
};

}  // namespace nn
