// Weights gradient of a convolution within a pass, by PairGradient or TileGradient.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <variant>

#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/method.h"
#include "workloads/nn/products/product.h"
#include "workloads/nn/products/weights_gradient_pairs.h"
#include "workloads/nn/products/weights_gradient_tiles.h"

namespace nn {

/// Writes the gradient as tiled_weights_desc() lays it out, or, of 1x1 convolutions, with plain
/// strides.
class WeightsGradient final : public Product {
 public:
  /// Where the backward pass finds the source and the destination's gradient.
  struct Places {
    ValuePlace src, diff_dst;
  };
  static bool supports(Method method, const ConvolutionProblem& problem,
                       const ConvolutionLayouts& layouts, const Planner& planner);
  /// Plans for the backward pass of the planner's current operation. REQUIRES: supports().
  WeightsGradient(Planner& planner, Method method, const ConvolutionProblem& problem,
                  const ConvolutionLayouts& layouts, const Places& places);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;

 private:
  /// An operand of the product.
  struct Activations {
    ValuePlace place;
    std::int64_t sample_elements = 0;
    const Bf16* data = nullptr;
    const Bf16* at(const Samples& samples) const {
      return data + place.row_of(samples.first, samples) * sample_elements;
    }
  };

  void run_product(const Samples& samples, float* diff_weights, bool add) const;
  void copy_from_tiles(float* diff_weights, bool add) const;

  std::variant<std::monostate, PairGradient, TileGradient> product_;
  /// Weights [out][in] with plain strides: their gradient is first computed in tiles, in a buffer.
  struct PlainWeights {
    std::int64_t out = 0, in = 0, out_stride = 0, in_stride = 0;
    BufferId tiles_buffer = -1;
    float* tiles = nullptr;
  };
  std::optional<PlainWeights> plain_;
  Activations from_, to_;
  BufferId scratch_buffer_ = -1;
  std::uint32_t* scratch_ = nullptr;
  ParameterId weights_ = -1;
  float* diff_weights_ = nullptr;
};

/// The windows of the problem's weights gradient: those of oneDNN's convolution, which is reversed
/// for a transposed one. REQUIRES: one or two axes.
WindowShape windows_of(const ConvolutionProblem& problem);

}  // namespace nn
