// AVX-512 and AMX intrinsics emulated in plain loops. To be included before kernels that use them,
// in a source compiled for any CPU. As on the CPU, products of bfloat16 numbers treat subnormal
// operands as zero and flush subnormal sums to zero.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#if !defined(__x86_64__)
#define EMULATED_FOR_AVX2 __attribute__((noinline))
#elif defined(__clang__)  // inlines no clones, and refuses to be told so
#define EMULATED_FOR_AVX2 __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
/// Compiles a function for AVX2 and FMA too, chosen at start: without them std::fma is a call.
#define EMULATED_FOR_AVX2 __attribute__((target_clones("arch=x86-64-v3", "default"), noinline))
#endif
#if !defined(__x86_64__)
// The intrinsics' types, which the compiler has for x86 alone.
using __m256i = long long __attribute__((vector_size(32)));
using __m512i = long long __attribute__((vector_size(64)));
using __m512 = float __attribute__((vector_size(64)));
using __m512bh = short __attribute__((vector_size(64)));
using __mmask16 = std::uint16_t;
using __mmask32 = std::uint32_t;
#endif

namespace emulated {

template <class To, class From>
To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

using Words16 = std::array<std::uint16_t, 32>;
using Words32 = std::array<std::uint32_t, 16>;
using Words64 = std::array<std::uint64_t, 8>;
using Floats = std::array<float, 16>;

inline float normal(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}
inline float lower_of(std::uint32_t pair) { return normal(as<float>(pair << 16)); }
inline float upper_of(std::uint32_t pair) { return normal(as<float>(pair & 0xFFFF0000U)); }

inline float add_pair(float sum, std::uint32_t a, std::uint32_t b) {
  sum = normal(std::fma(upper_of(a), upper_of(b), normal(sum)));
  return normal(std::fma(lower_of(a), lower_of(b), sum));
}

inline std::uint16_t rounded(float value) {
  const auto bits = as<std::uint32_t>(normal(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

template <class Vector>
Vector load(const void* from) {
  Vector to;
  std::memcpy(&to, from, sizeof to);
  return to;
}
template <class Vector>
void store(void* to, const Vector& from) {
  std::memcpy(to, &from, sizeof from);
}

/// Elements whose mask bit is 0 are zero and are not read.
template <class Vector, class Elements>
Vector load_masked(std::uint32_t mask, const void* from) {
  Elements to{};
  for (std::size_t i = 0; i < to.size(); ++i) {
    if ((mask >> i & 1U) == 0) continue;
    std::memcpy(&to[i], static_cast<const char*>(from) + i * sizeof to[i], sizeof to[i]);
  }
  return as<Vector>(to);
}

inline __m512i permuted16(const __m512i& order, const __m512i& from) {
  const auto places = as<Words16>(order), values = as<Words16>(from);
  Words16 to;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = values[places[i] % to.size()];
  return as<__m512i>(to);
}

inline __m512i permuted64(const __m512i& first, const __m512i& order, const __m512i& second) {
  const auto places = as<Words64>(order), a = as<Words64>(first), b = as<Words64>(second);
  Words64 to;
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = places[i] % 16 < 8 ? a[places[i] % 8] : b[places[i] % 8];
  }
  return as<__m512i>(to);
}

/// Of each 128 bits, the lower (half 0) or upper four elements of both operands, alternating.
inline __m512i unpacked16(const __m512i& first, const __m512i& second, std::size_t half) {
  const auto a = as<Words16>(first), b = as<Words16>(second);
  Words16 to;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t from = i / 8 * 8 + half * 4 + i % 8 / 2;
    to[i] = i % 2 == 0 ? a[from] : b[from];
  }
  return as<__m512i>(to);
}

inline __m512i with_half(const __m512i& into, const __m256i& half, std::size_t which) {
  __m512i to = into;
  std::memcpy(reinterpret_cast<char*>(&to) + which * sizeof half, &half, sizeof half);
  return to;
}

inline __m512bh rounded_pairs(const __m512& upper, const __m512& lower) {
  const auto a = as<Floats>(upper), b = as<Floats>(lower);
  Words16 to;
  for (std::size_t i = 0; i < a.size(); ++i) {
    to[i] = rounded(b[i]);
    to[a.size() + i] = rounded(a[i]);
  }
  return as<__m512bh>(to);
}

EMULATED_FOR_AVX2 static void add_pairs(Floats& sums, const Words32& a, const Words32& b) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = add_pair(sums[i], a[i], b[i]);
}

inline __m512 dot_pairs(const __m512& sum, const __m512bh& a, const __m512bh& b) {
  auto to = as<Floats>(sum);
  add_pairs(to, as<Words32>(a), as<Words32>(b));
  return as<__m512>(to);
}

template <class Apply>
__m512 on_floats(const __m512& first, const __m512& second, const Apply& apply) {
  auto to = as<Floats>(first);
  const auto b = as<Floats>(second);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = apply(to[i], b[i]);
  return as<__m512>(to);
}

template <class Apply>
__m512i on_words(const __m512i& from, const Apply& apply) {
  auto to = as<Words32>(from);
  for (std::uint32_t& word : to) word = apply(word);
  return as<__m512i>(to);
}

template <class Vector, class Element>
Vector filled(Element value) {
  std::array<Element, sizeof(Vector) / sizeof(Element)> to;
  to.fill(value);
  return as<Vector>(to);
}

/// The first argument is last in memory, as with _mm512_set_*.
template <class Element, class... Values>
__m512i of_values(Values... values) {
  const std::array<Element, sizeof...(Values)> given = {static_cast<Element>(values)...};
  std::array<Element, sizeof...(Values)> to;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = given[to.size() - 1 - i];
  return as<__m512i>(to);
}

/// The operand of LDTILECFG.
struct TileShapes {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};

/// AMX tiles of a thread.
struct Tiles {
  static constexpr std::size_t kRows = 16, kWords = 16;
  bool in_use = false;
  TileShapes shapes = {};
  std::uint32_t words[8][kRows][kWords] = {};
};
inline thread_local Tiles tiles;

/// Traps, where the CPU would raise an invalid-opcode or protection fault.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

inline void load_config(const void* from) {
  std::memcpy(&tiles.shapes, from, sizeof tiles.shapes);
  require(tiles.shapes.palette == 1);
  for (int i = 0; i < 8; ++i)
    require(tiles.shapes.rows[i] <= 16 && tiles.shapes.row_bytes[i] <= 64);
  std::memset(tiles.words, 0, sizeof tiles.words);
  tiles.in_use = true;
}
inline void release() { tiles.in_use = false; }

inline void zero(int tile) {
  require(tiles.in_use);
  std::memset(tiles.words[tile], 0, sizeof tiles.words[tile]);
}
inline void load_tile(int tile, const void* from, std::int64_t stride) {
  zero(tile);
  for (int row = 0; row < tiles.shapes.rows[tile]; ++row) {
    std::memcpy(tiles.words[tile][row], static_cast<const char*>(from) + row * stride,
                tiles.shapes.row_bytes[tile]);
  }
}
inline void store_tile(int tile, void* to, std::int64_t stride) {
  require(tiles.in_use);
  for (int row = 0; row < tiles.shapes.rows[tile]; ++row) {
    std::memcpy(static_cast<char*>(to) + row * stride, tiles.words[tile][row],
                tiles.shapes.row_bytes[tile]);
  }
}

/// sums += a b for 16 columns, of which those beyond b's are zero. Products of even and of odd
/// elements are summed separately first.
EMULATED_FOR_AVX2 static void add_products(std::uint32_t (*sums)[Tiles::kWords],
                                           const std::uint32_t (*a)[Tiles::kWords],
                                           const std::uint32_t (*b)[Tiles::kWords], int rows,
                                           int depth) {
  float lower[Tiles::kRows][Tiles::kWords], upper[Tiles::kRows][Tiles::kWords];
  for (int k = 0; k < depth; ++k) {
    for (std::size_t column = 0; column < Tiles::kWords; ++column) {
      lower[k][column] = lower_of(b[k][column]);
      upper[k][column] = upper_of(b[k][column]);
    }
  }
  for (int row = 0; row < rows; ++row) {
    Floats even{}, odd{};
    for (int k = 0; k < depth; ++k) {
      const float even_left = lower_of(a[row][k]), odd_left = upper_of(a[row][k]);
      for (std::size_t column = 0; column < Tiles::kWords; ++column) {
        even[column] = normal(std::fma(even_left, lower[k][column], even[column]));
        odd[column] = normal(std::fma(odd_left, upper[k][column], odd[column]));
      }
    }
    for (std::size_t column = 0; column < Tiles::kWords; ++column) {
      const float sum = normal(as<float>(sums[row][column]));
      sums[row][column] = as<std::uint32_t>(normal(sum + normal(even[column] + odd[column])));
    }
  }
}

inline void dot_tiles(int sums, int a, int b) {
  const TileShapes& shapes = tiles.shapes;
  require(tiles.in_use && shapes.rows[sums] == shapes.rows[a] &&
          shapes.row_bytes[sums] == shapes.row_bytes[b] &&
          shapes.row_bytes[a] / 4 == shapes.rows[b]);
  add_products(tiles.words[sums], tiles.words[a], tiles.words[b], shapes.rows[sums],
               shapes.rows[b]);
}

}  // namespace emulated

#define _mm256_maskz_loadu_epi16(mask, from) \
  (emulated::load_masked<__m256i, std::array<std::uint16_t, 16>>(mask, from))
#define _mm512_maskz_loadu_epi16(mask, from) \
  (emulated::load_masked<__m512i, emulated::Words16>(mask, from))
#define _mm256_loadu_si256(from) (emulated::load<__m256i>(from))
#define _mm256_setzero_si256() (__m256i{})
#define _mm512_setzero_si512() (__m512i{})
#define _mm512_setzero_ps() (__m512{})
#define _mm512_loadu_si512(from) (emulated::load<__m512i>(from))
#define _mm512_loadu_ps(from) (emulated::load<__m512>(from))
#define _mm512_storeu_si512(to, value) (emulated::store(to, value))
#define _mm512_store_si512(to, value) (emulated::store(to, value))
#define _mm512_storeu_ps(to, value) (emulated::store(to, value))
#define _mm512_set1_epi32(value) (emulated::filled<__m512i>(static_cast<std::int32_t>(value)))
#define _mm512_set_epi16(...) (emulated::of_values<std::int16_t>(__VA_ARGS__))
#define _mm512_set_epi64(...) (emulated::of_values<std::int64_t>(__VA_ARGS__))
#define _mm512_castsi512_ps(value) (emulated::as<__m512>(value))
#define _mm512_maskz_permutexvar_epi16(mask, order, from) (emulated::permuted16(order, from))
#define _mm512_maskz_permutex2var_epi64(mask, first, order, second) \
  (emulated::permuted64(first, order, second))
#define _mm512_maskz_unpacklo_epi16(mask, first, second) (emulated::unpacked16(first, second, 0))
#define _mm512_maskz_unpackhi_epi16(mask, first, second) (emulated::unpacked16(first, second, 1))
#undef _mm512_maskz_inserti64x4  // a macro in Clang
#define _mm512_maskz_inserti64x4(mask, into, half, which) (emulated::with_half(into, half, which))
#define _mm512_cvtne2ps_pbh(upper, lower) (emulated::rounded_pairs(upper, lower))
#define _mm512_dpbf16_ps(sum, a, b) (emulated::dot_pairs(sum, a, b))
#define _mm512_sub_ps(a, b) (emulated::on_floats(a, b, [](float x, float y) { return x - y; }))
#define _mm512_fmadd_ps(a, b, c)                                                             \
  (emulated::on_floats(emulated::on_floats(a, b, [](float x, float y) { return x * y; }), c, \
                       [](float x, float y) { return x + y; }))
#define _mm512_and_si512(a, b)                                    \
  (emulated::as<__m512i>([&] {                                    \
    auto to = emulated::as<emulated::Words32>(a);                 \
    const auto mask = emulated::as<emulated::Words32>(b);         \
    for (std::size_t i = 0; i < to.size(); ++i) to[i] &= mask[i]; \
    return to;                                                    \
  }()))
#define _mm512_maskz_slli_epi32(mask, from, bits) \
  (emulated::on_words(from, [](std::uint32_t word) { return word << (bits); }))

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig(from) (emulated::load_config(from))
#define _tile_release() (emulated::release())
#define _tile_zero(tile) (emulated::zero(tile))
#define _tile_loadd(tile, from, stride) (emulated::load_tile(tile, from, stride))
#define _tile_stored(tile, to, stride) (emulated::store_tile(tile, to, stride))
#define _tile_dpbf16ps(sums, a, b) (emulated::dot_tiles(sums, a, b))
