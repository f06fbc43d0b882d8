// Columns for tests of kernels, and their values in double precision.
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "workloads/kernels/activation_numbers.h"
#include "workloads/kernels/kernels.h"

namespace columns {

using activations::number;
using nn::Bf16;
using nn::Column;

struct Case {
  std::int64_t rows;
  int width;
  std::int64_t stride;
};

inline const std::vector<Case> kCases = {
    {1, 16, 16},
    {5, 16, 16},
    {600, 16, 16},
    {49, 8, 8},
    {7, 10, 26},
    {64, 1, 1},
    {9, 16, 48},
    // Several times 16 channels: whole rows, and parts of rows.
    {301, 64, 64},
    {70, 48, 112},
    {19, 101, 104},
    {6, 2048, 2064}};

/// Elements of arrays by channel: kernels may read them up to a multiple of 16.
inline std::size_t channels(const Case& c) {
  return static_cast<std::size_t>((c.width + 15) / 16 * 16);
}
/// Elements of a column's PassedBits.
inline std::size_t sign_words(const Case& c) {
  return channels(c) / 16 * static_cast<std::size_t>(c.rows);
}
/// Index of the PassedBits element that holds the sign of a channel.
inline std::size_t sign_word(const Case& c, std::int64_t row, int lane) {
  return static_cast<std::size_t>(lane / 16 * c.rows + row);
}

/// Reference for rounding: the nearer of the two neighbours, or the even one of a tie.
inline Bf16 rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const Bf16 below = {static_cast<std::uint16_t>(bits >> 16)};
  const Bf16 above = {static_cast<std::uint16_t>((bits >> 16) + 1)};
  const double down = std::abs(number(value) - number(below));
  const double up = std::abs(number(above) - number(value));
  if (down == up) return below.bits % 2 == 0 ? below : above;
  return down < up ? below : above;
}
template <class T>
T rounded_to(double value) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    return rounded(static_cast<float>(value));
  }
}

/// Largest relative error of one rounding to T.
template <class T>
inline constexpr double kRoundingError = std::is_same_v<T, float> ? 6e-8 : 1.0 / 256;

template <class T>
std::vector<T> wave(const Case& c, double phase, double shift = 3.0) {
  std::vector<T> values(static_cast<std::size_t>(c.rows * c.stride));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = rounded_to<T>(shift + std::sin(0.7 * static_cast<double>(i) + phase));
  }
  return values;
}

template <class T>
double value(const std::vector<T>& values, const Case& c, std::int64_t row, int lane) {
  return number(values[static_cast<std::size_t>(row * c.stride + lane)]);
}

}  // namespace columns
