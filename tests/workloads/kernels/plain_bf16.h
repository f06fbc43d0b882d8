// Rounding to bfloat16 by plain arithmetic on bits.
// Hides nothing.
#pragma once

#include <bit>
#include <cstdint>

namespace plain {

/// Those of the nearest number in bfloat16, of two equally near ones of the even one.
inline std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/// That number.
template <class Real>
Real to_bf16(Real value) {
  const std::uint32_t upper = bf16_bits(static_cast<float>(value));
  return static_cast<Real>(std::bit_cast<float>(upper << 16U));
}

}  // namespace plain
