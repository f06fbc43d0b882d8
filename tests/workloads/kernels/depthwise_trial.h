// Constants and types shared by the tests of depthwise kernels.
#pragma once

#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/kernels.h"

namespace depthwise {

using nn::Bf16;
using nn::DepthwisePlane;
using namespace activations;

inline constexpr std::int64_t kSide = 3, kTaps = DepthwisePlane::kTaps,
                              kBlock = DepthwisePlane::kBlock;
/// Tolerance for sums of up to 120 products of magnitude at most 1, each rounded to float.
inline constexpr double kFloats = 1e-5;
/// Initial value of elements that must not be written.
inline constexpr float kUntouched = -1234.0F;

/// Distances of output pixels and of taps, in source pixels.
struct Reach {
  std::int64_t stride, dilation;
};

inline constexpr double kBefore = 3.0;  ///< initial value of sums to which a gradient is added

}  // namespace depthwise
