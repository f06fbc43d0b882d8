// Activations of type float or Bf16 for tests of kernels.
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "workloads/kernels/kernels.h"
#include "workloads/kernels/plain_bf16.h"

namespace activations {

using nn::Bf16;

/// Relative error of one more rounding when a result is stored as T.
template <class T>
inline constexpr double kRounding = std::is_same_v<T, float> ? 0.0 : 1.0 / 256;

template <class T>
double number(T value) {
  return static_cast<double>(nn::as_float(value));
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

}  // namespace activations
