// The kernels compiled for AVX-512 BF16, including those that multiply bf16 pairs. Compiler flags
// are in CMakeLists.txt.
#include "workloads/kernels/gemm_pairs.h"
#include "workloads/kernels/interaction_pairs.h"
#include "workloads/kernels/table.h"
#include "workloads/kernels/volume_pairs.h"

namespace nn::detail {

const Kernels& avx512_bf16_kernels() {
  static const Kernels table = [] {
    Kernels all = table_of(base::InstructionSet::kAvx512Bf16);
    all.pair_gemm = kPairGemm;
    all.volumes.forward_bf16 = forward_rows<PairPoints>;
    all.bf16_features.interact = interact_words;
    all.bf16_features.interact_backward = interact_backward_words;
    return all;
  }();
  return table;
}

}  // namespace nn::detail
