// What a convolution asks of the library: descriptions of its three products.
// Hides which algorithm suits which gradient.
#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"

namespace nn {

/// A convolution of `src` samples with plain float or bfloat16 operands in layouts that the library
/// chooses, but for the network's input, which comes as plain rows. All descriptions throw the
/// library's errors.
class ConvolutionProblem {
 public:
  struct Options {
    dnnl::memory::data_type compute = dnnl::memory::data_type::f32;  ///< of operands
    bool training = true;
    bool first = false;  ///< reads the network's input
  };
  /// `src`: the layout in which the source is there.
  ConvolutionProblem(const Operation& operation, const dnnl::memory::desc& src,
                     const dnnl::memory::dims& weights, const Options& options, Device& device);

  dnnl::convolution_forward::primitive_desc forward(std::int64_t samples) const;
  dnnl::convolution_backward_data::primitive_desc data(std::int64_t samples) const;
  dnnl::convolution_backward_weights::primitive_desc weights(std::int64_t samples) const;

  /// Lets gradients of floats be products of transformed tiles where these are faster for so many
  /// samples at a time.
  void allow_winograd_gradients(std::int64_t samples);
  void allow_winograd_forward(std::int64_t samples);
  bool uses_winograd_gradients() const;
  bool uses_winograd_forward() const;

  /// Whether each destination point is made of the source point at its place alone.
  bool is_by_points() const;
  /// The same of only so many of a sample's points; where is_by_points().
  ConvolutionProblem of_points(std::int64_t points) const;

  const Operation& operation() const { return operation_; }
  const dnnl::memory::dims& weights_dims() const { return weights_dims_; }
  dnnl::memory::data_type compute() const { return options_.compute; }
  bool is_first() const { return options_.first; }

 private:
  template <class Describe>
  void choose(dnnl::algorithm& algorithm, const Describe& describe);
  dnnl::convolution_forward::primitive_desc forward_by(dnnl::algorithm algorithm,
                                                       std::int64_t samples) const;
  dnnl::memory::desc any_src(std::int64_t samples) const;
  dnnl::memory::desc wanted_src(std::int64_t samples) const;
  dnnl::memory::desc any_dst(std::int64_t samples) const;

  Operation operation_;
  dnnl::memory::desc src_;
  dnnl::memory::dims weights_dims_;
  dnnl::memory::dims skipped_;  ///< points between two taps
  Options options_;
  Device* device_;
  dnnl::algorithm forward_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm data_algorithm_ = dnnl::algorithm::convolution_direct;
  dnnl::algorithm weights_algorithm_ = dnnl::algorithm::convolution_direct;
};

}  // namespace nn
