// Conversion of a network's inputs to the type that they are stored in.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "workloads/kernels/kernels.h"

namespace nn {

/// `value`, which must not be NaN, as a T: float, or Bf16 rounded to nearest, ties to even.
template <class T>
T input_value(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    static_assert(std::is_same_v<T, Bf16>);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    constexpr std::uint32_t kHalf = 0x7FFF;
    return {static_cast<std::uint16_t>((bits + kHalf + ((bits >> 16) & 1U)) >> 16)};
  }
}

}  // namespace nn
