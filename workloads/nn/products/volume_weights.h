// Layouts of a volume convolution's weights that the volume kernels read and write.
#pragma once

#include <dnnl.hpp>

#include "workloads/kernels/kernels.h"
#include "workloads/kernels/volume_kernels.h"

namespace nn {

/// Layout of weights [3, 3, 3, in, out]: [out / 16][27][in][16].
dnnl::memory::desc volume_weights_desc(const Volume& volume);
/// Converts such weights to [out / 16][27][in / 2][16][2] of bfloat16.
void pack_pairs(const Volume& volume, const float* weights, const WeightTiles& tiles, Bf16* packed);
/// Transposes such weights to [out][in / 16][27][16].
void transpose_weights(const Volume& volume, const float* weights, const WeightTiles& tiles,
                       float* turned);
/// Transposes the gradient of one block of output channels, [16 channels][backward_weight_floats],
/// back to the weights' layout.
void transpose_gradient_back(const Volume& volume, std::int64_t block, const float* turned,
                             const WeightTiles& tiles, float* weights);

}  // namespace nn
