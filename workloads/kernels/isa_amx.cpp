// Products of bfloat16 numbers in the CPU's matrix tiles (AMX). Hides the compiler flags
// (CMakeLists.txt). By the rules of lanes.h.
#include "workloads/kernels/bf16x3.h"

namespace nn {
namespace detail {

const Kernels& amx_kernels() {
  static const Kernels table = [] {
    Kernels all = avx512_bf16_kernels();
    all.set = base::InstructionSet::kAmx;
    all.tile_gemm = kTileGemm;
    all.bf16x3_gemm = kBf16x3Gemm;
    return all;
  }();
  return table;
}

}  // namespace detail
}  // namespace nn
