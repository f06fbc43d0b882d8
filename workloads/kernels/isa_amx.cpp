// Products of bfloat16 numbers in the CPU's matrix tiles (AMX).
// Hides the compiler flags (CMakeLists.txt). As in kernels_body.h, everything has internal linkage
// and calls nothing from the standard library.
#include <immintrin.h>

#include "workloads/kernels/bf16x3.h"
#include "workloads/kernels/tile_windows.h"

namespace nn {
namespace detail {

const Kernels& amx_kernels() {
  static const Kernels table = [] {
    Kernels all = avx512_bf16_kernels();
    all.set = base::InstructionSet::kAmx;
    all.bf16_tiles = {pack_tiles, turn_tiles, multiply_tiles, multiply_windows};
    all.float_tiles = {split_rows, turn_rows, multiply_parts};
    return all;
  }();
  return table;
}

}  // namespace detail
}  // namespace nn
