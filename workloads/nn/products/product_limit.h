// Times of oneDNN's convolutions and inner products alone, each over a whole batch: the yardstick
// for a training step.
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

/// One product of a layer, run alone in the layouts that oneDNN prefers.
struct ProductTime {
  enum class Product { kForward, kDataGradient, kWeightsGradient };
  std::string layer;
  Product product = Product::kForward;
  double best_s = 0.0;         ///< for a whole batch; infinite before measure()
  std::int64_t flops = 0;      ///< 2 x multiply-accumulates
  std::int64_t bytes = 0;      ///< of source, weights and destination, each once
  std::string implementation;  ///< oneDNN's name of it
};

const char* to_string(ProductTime::Product product);

/// The products of all convolutions of a network and all layers of its perceptrons, forward and
/// backward; no data gradient for layers that read the network's input. Products of the same shape
/// are measured once and counted each time. For a convolution with pooling, the convolution alone
/// is measured, unpooled. Depthwise convolutions are left out, as they are bound by memory.
class ProductLimit {
 public:
  /// Throws ShapeError for shapes that oneDNN does not support, SystemError when memory runs out.
  /// `device` must outlive this.
  ProductLimit(const Network& network, std::int64_t batch, Precision precision, Device& device);
  ~ProductLimit();

  /// Runs each product once more; the best times are kept.
  void measure();
  int repetitions() const { return repetitions_; }
  /// Sum of the best times: seconds of a step that consists of these products alone.
  double seconds() const;
  /// In the network's order, forward before backward.
  std::vector<ProductTime> times() const;

 private:
  struct Run;
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
