// Own products of a convolution's gradient of weights within a pass, and where operands stand.
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

/// In the order of a convolution's own gradient; weights of single pixels in bfloat16 may have
/// plain strides, too.
class WeightsGradient final : public Product {
 public:
  /// Where the backward pass finds the source, and the gradient of what the operation made.
  struct Places {
    ValuePlace src, diff_dst;
  };
  static bool supports(Method method, const ConvolutionProblem& problem,
                       const ConvolutionLayouts& layouts, const Planner& planner);
  /// In the backward pass of the operation at hand, by a method that supports it.
  WeightsGradient(Planner& planner, Method method, const ConvolutionProblem& problem,
                  const ConvolutionLayouts& layouts, const Places& places);
  void bind(const Arena& arena, Device& device, const Kernels& kernels) override;
  void run(const Samples& samples, bool adds) override;

 private:
  /// What the product reads.
  struct Activations {
    ValuePlace place;
    std::int64_t sample_numbers = 0;
    const Bf16* data = nullptr;
    const Bf16* at(const Samples& samples) const {
      return data + place.row_of(samples.first, samples) * sample_numbers;
    }
  };

  void run_product(const Samples& samples, float* diff_weights, bool add) const;
  void take_out_of_tiles(float* diff_weights, bool add) const;

  std::variant<std::monostate, PairGradient, TileGradient> product_;
  /// Weights [out][in] of plain strides: their gradient is made in tiles elsewhere first.
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

/// The windows whose pixels meet in the problem's gradient of weights: of the library's
/// convolution, which of a transposed one goes the other way. Of lines and images alone.
WindowShape windows_of(const ConvolutionProblem& problem);

}  // namespace nn
