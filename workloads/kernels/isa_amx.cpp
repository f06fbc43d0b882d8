// The kernels compiled for AMX: those of AVX-512 BF16, and products in AMX tiles. Compiler flags
// are in CMakeLists.txt. Follows the rules of lanes.h.
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
