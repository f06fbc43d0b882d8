// Choice of the kernels for an instruction set.
#include "workloads/kernels/kernels.h"

#include "runner/base/error.h"

namespace nn {

const Kernels& kernels(base::InstructionSet set) {
  switch (set) {
    case base::InstructionSet::kBaseline:
      return detail::baseline_kernels();
#if defined(__x86_64__)
    case base::InstructionSet::kAvx2:
      return detail::avx2_kernels();
    case base::InstructionSet::kAvx512:
      return detail::avx512_kernels();
    case base::InstructionSet::kAvx512Bf16:
      return detail::avx512_bf16_kernels();
    case base::InstructionSet::kAmx:
      return detail::amx_kernels();
#endif
    default:
      throw base::Error(base::ExitCode::kInternal,
                        "kernels: this CPU has no instruction set " + base::to_string(set));
  }
}

}  // namespace nn
