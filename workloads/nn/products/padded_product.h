// Products of atrous convolutions of floats whose rows of points are padded in memory, as the
// library's fast way takes little padding beside rows: forward, and the gradient of the source.
// Hides the padded image, and weights the other way round.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/product.h"

namespace nn {

class PaddedProduct final : public Product {
 public:
  /// Whether the library would make such a product by lowering (im2col), and this one directly: of
  /// images as large as they become, in blocks of 16 channels. Weights are read as
  /// tiled_weights_desc() has them.
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// `from` is read and `to` written, in the layouts of `from_desc` and `to_desc`.
  PaddedProduct(Planner& planner, const ConvolutionProblem& problem, ConvolutionProduct product,
                const Slices& slices, int moment, const dnnl::memory::desc& from_desc,
                const ValuePlace& from, const dnnl::memory::desc& to_desc, const ValuePlace& to);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;
  std::int64_t reorders() const override { return product_.reorders(); }
  std::vector<const SlicedPrimitive*> primitives() const override { return {&product_}; }

 private:
  void pad(const Samples& samples) const;
  void turn_weights() const;

  ParameterId parameter_ = -1;
  ChannelLayout from_layout_;
  std::int64_t rows_ = 0, columns_ = 0, before_ = 0, padded_columns_ = 0;
  ValuePlace from_, to_;
  BufferId padded_buffer_ = -1, turned_buffer_ = -1;
  std::int64_t out_ = 0, in_ = 0, taps_ = 0;  ///< of weights that are turned
  SlicedPrimitive product_;
  const Kernels* kernels_ = nullptr;
  const float* source_ = nullptr;
  float* padded_ = nullptr;  ///< [samples of a slice][blocks][rows][padded columns][16]
  const float* weights_ = nullptr;
  float* turned_ = nullptr;
};

}  // namespace nn
