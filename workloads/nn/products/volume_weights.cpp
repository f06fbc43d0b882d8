// Converts a volume convolution's weights between layouts, by tiles of 16 x 16.
#include "workloads/nn/products/volume_weights.h"

#include <algorithm>

#include "workloads/nn/onednn.h"

namespace nn {
namespace {

constexpr std::int64_t kBlock = Volume::kBlock, kTaps = Volume::kTaps;

}  // namespace

dnnl::memory::desc volume_weights_desc(const Volume& volume) {
  using dnnl::memory;
  constexpr std::int64_t kAxis = 3;  // taps of one axis
  static_assert(kBlock == 16);
  const memory::desc blocks({volume.out, kAxis, kAxis, kAxis, volume.in}, memory::data_type::f32,
                            memory::format_tag::Abcde16a);
  return blocks.permute_axes({4, 0, 1, 2, 3});
}

void pack_pairs(const Volume& volume, const float* weights, const WeightTiles& tiles,
                Bf16* packed) {
  const std::int64_t tap = volume.in * kBlock;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < volume.out_blocks() * kTaps; ++i) {
    tiles.pair_rows(weights + i * tap, volume.in, kBlock, packed + i * tap, 2 * kBlock);
  }
}

void transpose_weights(const Volume& volume, const float* weights, const WeightTiles& tiles,
                       float* turned) {
  const std::int64_t blocks = volume.in_blocks(), floats = volume.backward_weight_floats();
#pragma omp parallel for schedule(static) collapse(2)
  for (std::int64_t out = 0; out < volume.out_blocks(); ++out) {
    for (std::int64_t in = 0; in < blocks; ++in) {
      for (std::int64_t tap = 0; tap < kTaps; ++tap) {
        float tile[kBlock * kBlock];
        tiles.transpose(weights + ((out * kTaps + tap) * volume.in + in * kBlock) * kBlock, tile);
        for (std::int64_t lane = 0; lane < kBlock; ++lane) {
          std::copy_n(tile + lane * kBlock, kBlock,
                      turned + (out * kBlock + lane) * floats + (in * kTaps + tap) * kBlock);
        }
      }
    }
  }
}

void transpose_gradient_back(const Volume& volume, std::int64_t block, const float* turned,
                             const WeightTiles& tiles, float* weights) {
  const std::int64_t floats = volume.backward_weight_floats();
  float* const to = weights + block * kTaps * volume.in * kBlock;
  if (volume.is_narrow()) {
    for (std::int64_t tap = 0; tap < kTaps; ++tap) {
      for (std::int64_t in = 0; in < volume.in; ++in) {
        for (std::int64_t lane = 0; lane < kBlock; ++lane) {
          to[(tap * volume.in + in) * kBlock + lane] =
              turned[lane * floats + tap / 3 * kBlock + tap % 3 * volume.in + in];
        }
      }
    }
    return;
  }
  for (std::int64_t in = 0; in < volume.in_blocks(); ++in) {
    for (std::int64_t tap = 0; tap < kTaps; ++tap) {
      float tile[kBlock * kBlock];
      for (std::int64_t lane = 0; lane < kBlock; ++lane) {
        std::copy_n(turned + lane * floats + (in * kTaps + tap) * kBlock, kBlock,
                    tile + lane * kBlock);
      }
      tiles.transpose(tile, to + (tap * volume.in + in * kBlock) * kBlock);
    }
  }
}

}  // namespace nn
