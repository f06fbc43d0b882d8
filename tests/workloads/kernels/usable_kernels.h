// The kernels of all instruction sets that this machine supports, and emulations of those that it
// may lack.
#pragma once

#include <vector>

#include "workloads/kernels/kernels.h"

inline std::vector<const nn::Kernels*> usable_kernels() {
  using base::InstructionSet;
  std::vector<const nn::Kernels*> all;
  for (const auto set : {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512,
                         InstructionSet::kAvx512Bf16, InstructionSet::kAmx}) {
    if (set <= base::usable_instruction_set()) all.push_back(&nn::kernels(set));
  }
  return all;
}

inline const nn::Kernels& best_kernels() { return nn::kernels(base::usable_instruction_set()); }

namespace nn::detail {
// Defined in emulated_pairs.cpp and emulated_tiles.cpp.
const Kernels& emulated_avx512_bf16_kernels();
const Kernels& emulated_amx_kernels();
}  // namespace nn::detail

/// Kernels with products of bf16 pairs: this CPU's, or the emulation.
inline const nn::Kernels& pair_kernels() {
  return best_kernels().has_pairs() ? best_kernels() : nn::detail::emulated_avx512_bf16_kernels();
}

/// Kernels with AMX tiles: this CPU's, or the emulation.
inline const nn::Kernels& tile_kernels() {
  return best_kernels().has_tiles() ? best_kernels() : nn::detail::emulated_amx_kernels();
}
