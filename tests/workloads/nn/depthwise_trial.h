// What depthwise kernels are tried on.
// Hides rounding.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "workloads/nn/kernels.h"
#include "workloads/nn/plain_bf16.h"

namespace depthwise {

using nn::Bf16;
using nn::DepthwisePlane;

inline constexpr std::int64_t kSide = 3, kTaps = DepthwisePlane::kTaps,
                              kBlock = DepthwisePlane::kBlock;
/// Of sums of up to 120 products of at most 1, each rounded as a float.
inline constexpr double kFloats = 1e-5;
/// What is stored in bfloat16 is rounded once more.
template <class T>
inline constexpr double kRounding = std::is_same_v<T, float> ? 0.0 : 1.0 / 256;
/// What nobody writes keeps this value.
inline constexpr float kUntouched = -1234.0F;

inline double number(float value) { return static_cast<double>(value); }
inline double number(Bf16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16));
}
template <class T>
T of(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return {plain::bf16_bits(value)};
  }
}

template <class T>
std::vector<T> wave(std::int64_t count, double phase) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(of<T>(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + phase))));
  }
  return values;
}

/// How often points are taken, and how far taps are apart.
struct Reach {
  std::int64_t stride, dilation;
};

inline constexpr double kBefore = 3.0;  ///< in sums to which a gradient is added

}  // namespace depthwise
