// The kernels compiled for avx2.
// Hides the compiler flags (CMakeLists.txt).
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& avx2_kernels() { return kTable; }

}  // namespace nn::detail
