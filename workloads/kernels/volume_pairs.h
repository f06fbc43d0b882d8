// Forward products of volumes by the instruction that multiplies bf16 pairs. Compiled for AVX-512
// BF16. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/volume_forward.h"

namespace nn {
namespace {

/// Products of bf16 pairs, of two adjacent input channels per step.
struct PairPoints {
  using Value = Bf16;
  static constexpr std::int64_t kChannels = 2;
  using Weights = __m512bh;
  static Weights load(const Bf16* weights) {
    return reinterpret_cast<Weights>(_mm512_loadu_si512(weights));
  }
  static void add(Lanes& sum, const Weights& weights, const Bf16* src) {
    int pair = 0;
    __builtin_memcpy(&pair, src, sizeof pair);
    const auto pairs = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
    sum = reinterpret_cast<Lanes>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), weights, pairs));
  }
};

}  // namespace
}  // namespace nn
