// The kernels compiled for baseline.
// Hides the compiler flags (CMakeLists.txt).
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& baseline_kernels() {
  static constexpr Kernels table = table_of(base::InstructionSet::kBaseline);
  return table;
}

}  // namespace nn::detail
