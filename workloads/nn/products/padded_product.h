// Forward product and source gradient of atrous convolutions of floats, on rows padded in memory,
// as oneDNN's fast implementation supports only little padding left and right.
// Hides the padded image and the transposed weights.
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
  /// Whether oneDNN lowers such a product (im2col), but not on padded rows. Source and destination
  /// must have the same extents and be in blocks of 16 channels, weights be laid out as
  /// tiled_weights_desc().
  static bool supports(const ConvolutionProblem& problem, const ConvolutionLayouts& layouts,
                       const Planner& planner);
  /// Reads `from` and writes `to`, which have the layouts `from_desc` and `to_desc`.
  PaddedProduct(Planner& planner, const ConvolutionProblem& problem, ConvolutionProduct product,
                const Slices& slices, int moment, const dnnl::memory::desc& from_desc,
                const ValuePlace& from, const dnnl::memory::desc& to_desc, const ValuePlace& to);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;
  std::int64_t reorders() const override { return product_.reorders(); }
  std::vector<const SlicedPrimitive*> primitives() const override { return {&product_}; }

 private:
  void pad(const Samples& samples) const;
  void transpose_weights() const;

  ParameterId parameter_ = -1;
  ChannelLayout from_layout_;
  std::int64_t rows_ = 0, columns_ = 0, before_ = 0, padded_columns_ = 0;
  ValuePlace from_, to_;
  BufferId padded_buffer_ = -1, turned_buffer_ = -1;
  std::int64_t out_ = 0, in_ = 0, taps_ = 0;  ///< extents of the weights to transpose
  SlicedPrimitive product_;
  const Kernels* kernels_ = nullptr;
  const float* source_ = nullptr;
  float* padded_ = nullptr;  ///< [samples of a slice][blocks][rows][padded columns][16]
  const float* weights_ = nullptr;
  float* transposed_ = nullptr;
};

}  // namespace nn
