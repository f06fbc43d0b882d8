// All kernels of an instruction set: included by kernels_*.cpp and nothing else. As kernels_body.h,
// whose part it is.
// Hides nothing.
#pragma once

#include "workloads/kernels/columns.h"
#include "workloads/kernels/depthwise_body.h"
#include "workloads/kernels/interaction.h"
#include "workloads/kernels/kernels_body.h"
#include "workloads/kernels/matrix_body.h"
#include "workloads/kernels/narrow_body.h"
#include "workloads/kernels/norms.h"
#include "workloads/kernels/point_body.h"
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

constexpr Kernels kTable = {kColumns<float>,
                            kColumns<Bf16>,
                            convert<float, Bf16>,
                            convert<Bf16, float>,
                            copy_past_caches,
                            {transpose_tile, pair_rows_of_tile, pair_columns_of_tile},
                            kFeatures<float>,
                            kFeatures<Bf16>,
                            kMatrices,
                            kPointProducts,
                            kSparse,
                            kVolumes,
                            kDepthwise<float>,
                            kDepthwise<Bf16>,
                            kNarrow<float>,
                            kNarrow<Bf16>,
                            {},
                            {},
                            {}};

}  // namespace
}  // namespace nn
