// All kernels of an instruction set. Included only by isa_*.cpp. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/byte_body.h"
#include "workloads/kernels/columns.h"
#include "workloads/kernels/depthwise_body.h"
#include "workloads/kernels/gemm_vector.h"
#include "workloads/kernels/interaction.h"
#include "workloads/kernels/norms.h"
#include "workloads/kernels/rows.h"
#include "workloads/kernels/sparse_body.h"
#include "workloads/kernels/transpose.h"
#include "workloads/kernels/volume_body.h"

namespace nn {
namespace {

template <class T>
constexpr ColumnKernels<T> kColumns = {moments<T>,        normalize<T>,       gradient_sums<T>,
                                       gradient_apply<T>, gradient_frozen<T>, accumulate<T>,
                                       row_mean<T>,       fill_rows<T>};

template <class T>
constexpr FeatureKernels<T> kFeatures = {interact<T>, interact_backward<T>, mask_rows<T>,
                                         project_rows<T>, project_rows_backward<T>};

/// The kernels that every instruction set has.
constexpr Kernels table_of(base::InstructionSet set) {
  return {.set = set,
          .f32 = kColumns<float>,
          .bf16 = kColumns<Bf16>,
          .round_to_bf16 = convert<float, Bf16>,
          .widen = convert<Bf16, float>,
          .round_to_bytes = round_to_bytes,
          .widen_bytes = widen_bytes,
          .stream_copy = stream_copy,
          .weight_tiles = {transpose_tile, pair_rows_of_tile, pair_columns_of_tile},
          .f32_features = kFeatures<float>,
          .bf16_features = kFeatures<Bf16>,
          .vector_gemm = kVectorGemm,
          .sparse = kSparse,
          .volumes = kVolumes,
          .f32_depthwise = kDepthwise<float>,
          .bf16_depthwise = kDepthwise<Bf16>};
}

}  // namespace
}  // namespace nn
