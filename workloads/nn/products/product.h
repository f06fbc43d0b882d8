// One product of a convolution within a pass, however it is made.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/nn/layer.h"
#include "workloads/nn/sliced_primitive.h"

namespace nn {

/// The forward product, or the gradient of the source, or that of the weights. Life: constructor,
/// which plans memory; bind, once that exists; then passes, slice by slice.
class Product {
 public:
  virtual ~Product() = default;
  virtual void bind(const Arena& arena, Device& device, const Kernels& kernels) = 0;
  /// Makes it of these samples, a slice of the pass. With `adds` a gradient of weights is added to
  /// what is there; of others nothing depends on it.
  virtual void run(const Samples& samples, bool adds) = 0;
  /// Conversions between layouts in a pass.
  virtual std::int64_t reorders() const { return 0; }
  /// What it runs of the library.
  virtual std::vector<const SlicedPrimitive*> primitives() const { return {}; }
};

}  // namespace nn
