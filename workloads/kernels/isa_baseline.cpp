// The kernels compiled for the baseline instruction set. Compiler flags are in CMakeLists.txt.
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& baseline_kernels() {
  static constexpr Kernels table = table_of(base::InstructionSet::kBaseline);
  return table;
}

}  // namespace nn::detail
