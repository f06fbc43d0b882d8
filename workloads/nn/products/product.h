// One product of a convolution within a pass: the interface of all methods.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {

/// The forward product, the source gradient or the weights gradient. Life cycle: the constructor
/// plans memory; bind() is called once memory exists; then run() for each slice of a pass.
class Product {
 public:
  virtual ~Product() = default;
  virtual void bind(const Arena& arena, Device& device, const Kernels& kernels) = 0;
  /// Computes the product for `samples`, a slice of the pass. With `adds`, a weights gradient is
  /// added to the existing one; other products ignore `adds`.
  virtual void run(const Samples& samples, bool adds) = 0;
  /// Conversions between layouts in a pass.
  virtual std::int64_t reorders() const { return 0; }
  /// The oneDNN primitives that it runs.
  virtual std::vector<const SlicedPrimitive*> primitives() const { return {}; }
};

}  // namespace nn
