// Choice of the kernels for an instruction set.
#include "workloads/kernels/kernels.h"

#include "runner/base/error.h"

namespace nn {

const Kernels& kernels(base::InstructionSet set) {
  switch (set) {
    case base::InstructionSet::kBaseline:
      return detail::baseline_kernels();
    case base::InstructionSet::kAvx2:
      return detail::avx2_kernels();
    case base::InstructionSet::kAvx512:
      return detail::avx512_kernels();
    case base::InstructionSet::kAvx512Bf16:
      return detail::avx512_bf16_kernels();
    case base::InstructionSet::kAmx:
      return detail::amx_kernels();
  }
  throw base::Error(base::ExitCode::kInternal, "kernels: unknown instruction set");
}

}  // namespace nn
