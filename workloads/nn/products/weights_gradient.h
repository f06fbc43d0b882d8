// Own products of a convolution's gradient of weights within a pass: which one, and where operands
// stand.
// Hides which convolutions the library is slow at.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>
#include <variant>

#include "workloads/nn/layer.h"
#include "workloads/nn/products/convolution_problem.h"
#include "workloads/nn/products/float_strip_gradient.h"
#include "workloads/nn/products/pointwise_gradient.h"
#include "workloads/nn/products/row_gradient.h"
#include "workloads/nn/products/strip_gradient.h"
#include "workloads/nn/products/tile_gradient.h"
#include "workloads/nn/products/window_gradient.h"

namespace nn {

class OwnWeights {
 public:
  /// What a convolution gives and takes, in its layouts.
  struct Operands {
    dnnl::memory::desc src, dst, weights;
  };
  /// Where the backward pass finds the source, and the gradient of what the operation made.
  struct Places {
    ValuePlace src, diff_dst;
  };
  /// Chooses the product for the operation at hand, if there is one that is faster than the
  /// library's: of operands in the order of the product, of which weights of single points in
  /// bfloat16 may have plain strides, too.
  void plan(Planner& planner, const ConvolutionProblem& problem, const Operands& operands,
            const Places& places);
  bool planned() const { return !std::holds_alternative<std::monostate>(product_); }
  void bind(const Arena& arena);
  /// diff_weights = the gradient over these samples, or += with `add`.
  void run(const Samples& samples, float* diff_weights, bool add);

 private:
  /// What the product reads.
  struct Activations {
    ValuePlace place;
    std::int64_t sample_numbers = 0;
    const void* data = nullptr;
    template <class Number>
    const Number* at(const Samples& samples) const {
      return static_cast<const Number*>(data) +
             place.row_of(samples.first, samples) * sample_numbers;
    }
  };

  /// What each gives back: bytes of scratch, 0 if it does not serve.
  std::int64_t plan_blocked(Planner& planner, const ConvolutionProblem& problem,
                            const SampleShape& from, const SampleShape& to);
  std::int64_t plan_floats(Planner& planner, const ConvolutionProblem& problem,
                           const SampleShape& from, const SampleShape& to);
  std::int64_t plan_tiles(Planner& planner, const ConvolutionProblem& problem,
                          const SampleShape& from, const SampleShape& to);
  void run_product(const Samples& samples, float* diff_weights, bool add) const;
  void take_out_of_tiles(float* diff_weights, bool add) const;

  std::variant<std::monostate, PointwiseGradient, WindowGradient, TileGradient, StripGradient,
               RowGradient, FloatStripGradient>
      product_;
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
};

}  // namespace nn
