// Rounding to bfloat16 by plain bit arithmetic.
#pragma once

#include <bit>
#include <cstdint>

namespace plain {

/// The bits of the nearest bfloat16 number, ties to even. Not for NaN.
inline std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/// The value of that number.
template <class Real>
Real to_bf16(Real value) {
  const std::uint32_t upper = bf16_bits(static_cast<float>(value));
  return static_cast<Real>(std::bit_cast<float>(upper << 16U));
}

}  // namespace plain
