// The kernels compiled for avx512, with those that multiply bfloat16.
// Hides the compiler flags (CMakeLists.txt) and the instructions. As in kernels_body.h, everything
// has internal linkage and calls nothing from the standard library.
#include <immintrin.h>

#include "workloads/nn/kernels.h"

namespace nn {
namespace {

constexpr int kLanes = 16;
constexpr int kPanels = Bf16Products::kPanels;
constexpr int kColumns = 4;

/// Words (a0 .. a15, b0 .. b15) become (a0, b0, a1, b1 ...).
inline __m512i interleaved(__m512i rows) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, rows);
}

void pack_rows(const Bf16* rows, std::int64_t count, std::uint32_t* pairs) {
  std::int64_t row = 0;
  for (; row + 2 <= count; row += 2, pairs += kLanes) {
    _mm512_storeu_si512(pairs, interleaved(_mm512_loadu_si512(rows + row * kLanes)));
  }
  if (row == count) return;
  const __m512i last = _mm512_maskz_loadu_epi16(0xFFFF, rows + row * kLanes);
  _mm512_storeu_si512(pairs, interleaved(last));
}

/// 4 of the panel's 16 columns from `column` on.
inline void multiply_columns(const std::uint32_t* a, std::int64_t a_stride, const std::uint32_t* b,
                             std::int64_t pairs, float* c, std::int64_t c_stride, bool add,
                             int column) {
  __m512 sums[kColumns][kPanels];
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      sums[j][i] =
          add ? _mm512_loadu_ps(c + i * c_stride + (column + j) * kLanes) : _mm512_setzero_ps();
    }
  }
  for (std::int64_t k = 0; k < pairs; ++k) {
    __m512bh left[kPanels];
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      left[i] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(a + i * a_stride + k * kLanes));
    }
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      const auto right = reinterpret_cast<__m512bh>(
          _mm512_set1_epi32(static_cast<int>(b[k * kLanes + column + j])));
#pragma GCC unroll 4
      for (int i = 0; i < kPanels; ++i) {
        sums[j][i] = _mm512_dpbf16_ps(sums[j][i], left[i], right);
      }
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      _mm512_storeu_ps(c + i * c_stride + (column + j) * kLanes, sums[j][i]);
    }
  }
}

void multiply(const std::uint32_t* a, std::int64_t a_stride, const std::uint32_t* b,
              std::int64_t pairs, float* c, std::int64_t c_stride, bool add) {
  for (int column = 0; column < kLanes; column += kColumns) {
    multiply_columns(a, a_stride, b, pairs, c, c_stride, add, column);
  }
}

}  // namespace

namespace detail {

const Kernels& avx512_bf16_kernels() {
  static const Kernels table = [] {
    Kernels all = avx512_kernels();
    all.bf16_products = {pack_rows, multiply};
    return all;
  }();
  return table;
}

}  // namespace detail
}  // namespace nn
