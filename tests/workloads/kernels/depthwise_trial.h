// What depthwise kernels are tried on.
// Hides nothing.
#pragma once

#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/kernels.h"

namespace depthwise {

using nn::Bf16;
using nn::DepthwisePlane;
using namespace activations;

inline constexpr std::int64_t kSide = 3, kTaps = DepthwisePlane::kTaps,
                              kBlock = DepthwisePlane::kBlock;
/// Of sums of up to 120 products of at most 1, each rounded as a float.
inline constexpr double kFloats = 1e-5;
/// What nobody writes keeps this value.
inline constexpr float kUntouched = -1234.0F;

/// How often points are taken, and how far taps are apart.
struct Reach {
  std::int64_t stride, dilation;
};

inline constexpr double kBefore = 3.0;  ///< in sums to which a gradient is added

}  // namespace depthwise
