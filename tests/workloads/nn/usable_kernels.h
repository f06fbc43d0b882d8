// The kernels of all instruction sets that this machine has.
// Hides nothing.
#pragma once

#include <vector>

#include "workloads/nn/kernels.h"

inline std::vector<const nn::Kernels*> usable_kernels() {
  using base::InstructionSet;
  std::vector<const nn::Kernels*> all;
  for (const auto set : {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512,
                         InstructionSet::kAvx512Bf16}) {
    if (set <= base::usable_instruction_set()) all.push_back(&nn::kernels(set));
  }
  return all;
}
