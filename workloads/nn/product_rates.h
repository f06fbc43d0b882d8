// Which products of bfloat16 operands this CPU makes faster.
// Hides how it is found out.
#pragma once

#include "workloads/kernels/kernels.h"
#include "workloads/nn/precision.h"

namespace nn {

/// How many products a second this CPU makes of floats, and of pairs of bfloat16 numbers; on one
/// core, of what is in registers. By the best of several short measurements.
struct ProductRates {
  double floats = 0.0, pairs = 0.0;
};
/// Throws Error(kInternal) for kernels without products of pairs.
ProductRates measure_product_rates(const Kernels& kernels);

/// kPairs or kFloats. Measured at the first call, once for a process: a Xeon of the fifth
/// generation took four times as long for an instruction that multiplies pairs as for one that
/// multiplies floats.
Products faster_products(const Kernels& kernels);
/// What own kernels multiply in bf16, kPairs or kFloats.
Products own_products(const Arithmetic& arithmetic, const Kernels& kernels);
/// The same of the library's products, where kFaster means pairs if it uses the CPU's matrix tiles.
Products library_products(const Arithmetic& arithmetic, const Kernels& kernels);
/// Whether the library multiplies activations in the CPU's matrix tiles, for which it wants their
/// channels last.
bool wants_channels_last(const Arithmetic& arithmetic, const Kernels& kernels);
/// Whether own products of floats are made of three parts in bfloat16 each, in the CPU's matrix
/// tiles (FloatTiles): in f32, unless floats themselves are to be multiplied.
bool multiplies_parts(const Arithmetic& arithmetic, const Kernels& kernels);

}  // namespace nn
