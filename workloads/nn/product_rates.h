// Which products of bf16 operands are faster on this CPU.
#pragma once

#include "workloads/kernels/kernels.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/precision.h"

namespace nn {

/// Multiplications per second of floats, and of bf16 elements in pairs: on one core, with operands
/// in registers. The best of several short measurements.
struct ProductRates {
  double floats = 0.0, pairs = 0.0;
};
/// Throws Error(kInternal) for kernels without products of pairs.
ProductRates measure_product_rates(const Kernels& kernels);

/// kPairs or kFloats, measured by this call: on a fifth-generation Xeon, an instruction that
/// multiplies pairs took four times as long as one that multiplies floats.
Products faster_products(const Kernels& kernels);

/// What this project's kernels and oneDNN multiply on this CPU. `device` outlives this, and keeps
/// the measurement.
class CpuProducts {
 public:
  CpuProducts(const Arithmetic& arithmetic, const Kernels& kernels, Device& device)
      : arithmetic_(arithmetic), kernels_(&kernels), device_(&device) {}

  /// What this project's kernels multiply in bf16, kPairs or kFloats.
  Products own() const;
  /// The same for oneDNN, for which kFaster means kPairs if it uses AMX tiles.
  Products library() const;
  /// Whether oneDNN multiplies activations in AMX tiles, for which it wants channels last.
  bool wants_channels_last() const;
  /// Whether this project's products of floats use the bf16x3 split in AMX tiles (Bf16x3Gemm): in
  /// f32, unless kFloats is asked for.
  bool uses_bf16x3() const;

 private:
  Arithmetic arithmetic_;
  const Kernels* kernels_;
  Device* device_;
};

}  // namespace nn
