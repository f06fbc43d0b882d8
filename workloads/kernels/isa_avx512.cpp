// The kernels compiled for AVX-512. Compiler flags are in CMakeLists.txt.
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& avx512_kernels() {
  static constexpr Kernels table = table_of(base::InstructionSet::kAvx512);
  return table;
}

}  // namespace nn::detail
