// The kernels compiled for AVX2. Compiler flags are in CMakeLists.txt.
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& avx2_kernels() {
  static constexpr Kernels table = table_of(base::InstructionSet::kAvx2);
  return table;
}

}  // namespace nn::detail
