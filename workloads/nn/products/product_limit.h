// What the library's convolutions and inner products alone take, over a whole batch each: the
// yardstick of a step.
// Hides their primitives and memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/kernels/aligned.h"
#include "workloads/nn/network.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/precision.h"

namespace nn {

/// One product of a layer, run alone in the layouts that the library likes best.
struct ProductTime {
  enum class Product { kForward, kDataGradient, kWeightsGradient };
  std::string layer;
  Product product = Product::kForward;
  double best_s = 0.0;         ///< of a whole batch; infinite before measure()
  std::int64_t flops = 0;      ///< 2 x multiply-accumulates
  std::int64_t bytes = 0;      ///< of source, weights and destination, each once
  std::string implementation;  ///< the library's name of it
};

const char* to_string(ProductTime::Product product);

/// All convolutions of a network and all layers of its perceptrons, forward and backward; no data
/// gradient for those that read the network's input. Those of the same shape are measured once and
/// count each. Of a convolution with maxima, the convolution alone, all its points. Depthwise
/// convolutions, which are bound by memory, are none.
class ProductLimit {
 public:
  /// Throws ShapeError for what the library cannot do, SystemError when memory is short. `device`
  /// outlives this.
  ProductLimit(const Network& network, std::int64_t batch, Precision precision, Device& device);
  ~ProductLimit();

  /// Runs each of them once more; the best time counts.
  void measure();
  int repetitions() const { return repetitions_; }
  /// The sum of the best times: seconds of a step that is nothing but such products.
  double seconds() const;
  /// In the network's order, forward before backward.
  std::vector<ProductTime> times() const;

 private:
  struct Problem;
  struct Use {
    std::string layer;
    std::size_t problem = 0;
    bool data_gradient = true;
    bool is_transposed = false;
  };
  std::size_t problem_of(const Network& network, const Operation& operation, std::int64_t batch,
                         Precision precision);
  void reserve_memory();

  Device& device_;
  std::vector<std::unique_ptr<Problem>> problems_;
  std::vector<Use> uses_;
  AlignedFloats memory_;
  int repetitions_ = 0;
};

}  // namespace nn
