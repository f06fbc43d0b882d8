// Random numbers that are pure functions of a few keys; synthetic data is defined by them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace base {

/// A bijection of 64-bit numbers.
/// Source: Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// The hash of a chain of keys; `from` is the hash of a prefix of the chain.
constexpr std::uint64_t chain(std::initializer_list<std::uint64_t> keys, std::uint64_t from = 0) {
  for (const std::uint64_t key : keys) from = mix(from ^ key);
  return from;
}

/// Uniform in [0, 1) with 53 bits.
constexpr double uniform_of(std::uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

/// A standard normal value from the chain whose hash is `hash` (cosine branch of Box-Muller, with
/// two continuations of the chain as uniforms).
inline double normal_of(std::uint64_t hash) {
  const double radius =
      std::max(uniform_of(chain({1}, hash)), 0x1p-53);  // avoids the logarithm of 0
  return std::sqrt(-2.0 * std::log(radius)) *
         std::cos(2.0 * std::numbers::pi * uniform_of(chain({2}, hash)));
}

}  // namespace base
