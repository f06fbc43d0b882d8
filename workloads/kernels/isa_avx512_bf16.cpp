// The kernels compiled for AVX-512 BF16, including those that multiply bf16 pairs. Compiler flags
// are in CMakeLists.txt.
#include "workloads/kernels/gemm_pairs.h"
#include "workloads/kernels/interaction_pairs.h"
#include "workloads/kernels/table.h"
#include "workloads/kernels/volume_pairs.h"

namespace nn::detail {

const Kernels& avx512_bf16_kernels() {
  static const Kernels table = [] {
    Kernels all = avx512_kernels();  // what neither rounds to bf16 nor multiplies bf16 is the same
    all.set = base::InstructionSet::kAvx512Bf16;
    all.bf16 = kColumns<Bf16>;
    all.round_to_bf16 = convert<float, Bf16>;
    all.weight_tiles = {transpose_tile, pair_rows_of_tile, pair_columns_of_tile};
    all.sparse.bf16 = kBags<Bf16>;
    all.volumes.weights_gradient_bf16 = weights_gradient<Bf16>;
    all.volumes.forward_widened = forward_widened;
    all.bf16_features = kFeatures<Bf16>;
    all.bf16_depthwise = kDepthwise<Bf16>;
    all.pair_gemm = kPairGemm;
    all.volumes.forward_bf16 = forward_rows<PairPoints>;
    all.bf16_features.interact = interact_pairs;
    all.bf16_features.interact_backward = interact_backward_pairs;
    return all;
  }();
  return table;
}

}  // namespace nn::detail
