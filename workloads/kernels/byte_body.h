// Floats as bytes with a scale. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

using ByteLanes = std::uint8_t __attribute__((vector_size(16), aligned(1)));
using SignedByteLanes = std::int8_t __attribute__((vector_size(16), aligned(1)));

constexpr int kBitsOfMagnitude = 0x7FFFFFFF;
constexpr float kMostOfByte = 127.0F;
/// A float of this size has no bits after the binary point, so that adding it rounds to the nearest
/// whole number; its lowest byte is zero, and that of the sum the number.
constexpr float kRounding = 12582912.0F;

/// The largest magnitude. Bits of positive floats are ordered as their values, and those of
/// infinity and NaN lie above them.
inline float largest_magnitude(const float* values, std::int64_t count) {
  Mask largest = {};
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    const Lanes value = access.load(values + at, width);
    const Mask bits = reinterpret_cast<Mask>(value) & kBitsOfMagnitude;
    largest = bits > largest ? bits : largest;
  });
  int most = 0;
  for (int lane = 0; lane < kLanes; ++lane) most = largest[lane] > most ? largest[lane] : most;
  float value;
  __builtin_memcpy(&value, &most, sizeof value);
  return value;
}

inline void round_to_bytes(const float* src, std::int8_t* dst, float* scale, std::int64_t count) {
  const float most = largest_magnitude(src, count);
  if (!(most >= kLeastOfBytes) || most > __FLT_MAX__) {
    *scale = most < kLeastOfBytes ? 0.0F : __builtin_nanf("");
    __builtin_memset(dst, 0, static_cast<std::size_t>(count));
    return;
  }
  *scale = most / kMostOfByte;
  const float factor = kMostOfByte / most;
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    const Lanes rounded = access.load(src + at, width) * factor + kRounding;
    const ByteLanes bytes = __builtin_convertvector(reinterpret_cast<Words>(rounded), ByteLanes);
    __builtin_memcpy(dst + at, &bytes, static_cast<std::size_t>(width));
  });
}

inline void widen_bytes(const std::int8_t* src, float scale, float* dst, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    SignedByteLanes bytes = {};
    __builtin_memcpy(&bytes, src + at, static_cast<std::size_t>(width));
    const Mask numbers = __builtin_convertvector(bytes, Mask);
    access.store(dst + at, __builtin_convertvector(numbers, Lanes) * scale, width);
  });
}

}  // namespace
}  // namespace nn
