// Products of bfloat16 numbers in the CPU's matrix tiles (AMX).
// Hides the compiler flags (CMakeLists.txt). As in kernels_body.h, everything has internal linkage
// and calls nothing from the standard library.
#include <immintrin.h>

#include "workloads/kernels/bf16x3.h"
#include "workloads/kernels/narrow_tiles.h"

namespace nn {
namespace detail {

Bf16Tiles amx_tiles() {
  return {pack_tiles, turn_tiles, pack_row, multiply_tiles, multiply_windows};
}

FloatTiles amx_float_tiles() { return {split_rows, turn_rows, multiply_parts}; }

NarrowKernels<Bf16, Bf16> amx_narrow() {
  return {narrow_forward_tiles, part_products, join_gradients<Bf16>, narrow_source_gradient_tiles,
          narrow_weights_gradient_tiles};
}

}  // namespace detail
}  // namespace nn
