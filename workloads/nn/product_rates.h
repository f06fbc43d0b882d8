// Which products of bfloat16 operands this CPU makes faster.
// Hides how it is found out.
#pragma once

#include "workloads/kernels/kernels.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/precision.h"

namespace nn {

/// How many products a second this CPU makes of floats, and of pairs of bfloat16 numbers; on one
/// core, of what is in registers. By the best of several short measurements.
struct ProductRates {
  double floats = 0.0, pairs = 0.0;
};
/// Throws Error(kInternal) for kernels without products of pairs.
ProductRates measure_product_rates(const Kernels& kernels);

/// kPairs or kFloats, measured now: a Xeon of the fifth generation took four times as long for an
/// instruction that multiplies pairs as for one that multiplies floats.
Products faster_products(const Kernels& kernels);

/// What own kernels and the library multiply on this CPU. The device outlives it, and keeps what
/// has been measured.
class CpuProducts {
 public:
  CpuProducts(const Arithmetic& arithmetic, const Kernels& kernels, Device& device)
      : arithmetic_(arithmetic), kernels_(&kernels), device_(&device) {}

  /// What own kernels multiply in bf16, kPairs or kFloats.
  Products own() const;
  /// The same of the library's products, where kFaster means pairs if it uses matrix tiles.
  Products library() const;
  /// Whether the library multiplies activations in matrix tiles, for which it wants their channels
  /// last.
  bool wants_channels_last() const;
  /// Whether own products of floats are made of three parts in bfloat16 each, in matrix tiles
  /// (Bf16x3Gemm): in f32, unless floats themselves are to be multiplied.
  bool multiplies_parts() const;

 private:
  Arithmetic arithmetic_;
  const Kernels* kernels_;
  Device* device_;
};

}  // namespace nn
