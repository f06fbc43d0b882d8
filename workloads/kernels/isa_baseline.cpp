// The kernels compiled for baseline.
// Hides the compiler flags (CMakeLists.txt).
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& baseline_kernels() { return kTable; }

}  // namespace nn::detail
