// The kernels of all instruction sets that this machine has, and whether it has matrix tiles.
// Hides nothing.
#pragma once

#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/nn/onednn.h"

inline std::vector<const nn::Kernels*> usable_kernels() {
  using base::InstructionSet;
  std::vector<const nn::Kernels*> all;
  for (const auto set : {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512,
                         InstructionSet::kAvx512Bf16}) {
    if (set <= base::usable_instruction_set()) all.push_back(&nn::kernels(set));
  }
  return all;
}

inline const nn::Kernels& best_kernels() { return nn::kernels(base::usable_instruction_set()); }

/// Once there is a device, which asks the system for tiles.
inline bool has_tiles() {
  static const nn::Device device;
  return nn::has_tiles(best_kernels());
}
