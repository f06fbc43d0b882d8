// The kernels compiled for avx512.
// Hides the compiler flags (CMakeLists.txt).
#include "workloads/kernels/table.h"

namespace nn::detail {

const Kernels& avx512_kernels() { return kTable; }

}  // namespace nn::detail
