// Products between feature vectors by the instruction that multiplies bf16 pairs. Compiled for
// AVX-512 BF16. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/interaction.h"

namespace nn {
namespace {

/// Products of bf16 pairs: two adjacent elements of a vector, or, for gradients, the same element
/// of two adjacent vectors.
struct PairProducts {
  PairProducts(const Bf16* src, const Bf16* features, const FeatureShape& shape, float* scratch)
      : width(shape.width),
        count(whole_lanes(shape.count)),
        rows{src, features, shape.width, shape.count},
        turned(reinterpret_cast<std::uint32_t*>(scratch)),
        factors(reinterpret_cast<Bf16*>(turned + count * width)) {}

  void prepare() const {
    const auto words = [this](std::int64_t i) {
      return reinterpret_cast<const std::uint32_t*>(rows(i));
    };
    turn<std::uint32_t, Words>(count, width / 2, words, turned);
  }
  void multiply(std::int64_t row, std::int64_t other, Lanes* sums) const {
    const Bf16* left[kProductRows];
    __m512 products[kProductRows];
    for (int i = 0; i < kProductRows; ++i) {
      products[i] = _mm512_setzero_ps();
      left[i] = rows(row + i);
    }
    const std::uint32_t* right = turned + other;
    for (std::int64_t c = 0; c < width; c += 2, right += count) {
      const auto lanes = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right));
      for (int i = 0; i < kProductRows; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, left[i] + c, sizeof word);
        products[i] = _mm512_dpbf16_ps(products[i], lanes, pair_of(word));
      }
    }
    for (int i = 0; i < kProductRows; ++i) sums[i] = reinterpret_cast<Lanes>(products[i]);
  }

  void prepare_gradients(const Bf16* diff_pairs) const {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const Bf16* const from = diff_pairs + i * (i - 1) / 2;
      factors[i * count + i] = {0};
      for (std::int64_t j = 0; j < i; ++j)
        factors[i * count + j] = factors[j * count + i] = from[j];
      factors[i * count + rows.count] = {0};  // pairs with the last of an odd number of vectors
    }
    for (std::int64_t i = 0; i < rows.count; i += 2) {
      const bool is_last = i + 1 == rows.count;
      std::uint32_t* const to = turned + i / 2 * width;
      for (std::int64_t c = 0; c < width; c += kLanes) {
        const Words lower = half_words(rows(i) + c);
        const Words upper = is_last ? Words{} : half_words(rows(i + 1) + c);
        const Words both = lower | upper << 16;
        __builtin_memcpy(to + c, &both, sizeof both);
      }
    }
  }
  template <int kColumns>
  void combine(std::int64_t row, std::int64_t column, Lanes (*sums)[kColumns]) const {
    __m512 products[kGradientRows][kColumns];
    for (int i = 0; i < kGradientRows; ++i) {
      for (int part = 0; part < kColumns; ++part) products[i][part] = _mm512_setzero_ps();
    }
    for (std::int64_t j = 0; j < rows.count; j += 2) {
      const std::uint32_t* const from = turned + j / 2 * width + column;
      __m512bh lanes[kColumns];
      for (int part = 0; part < kColumns; ++part) {
        lanes[part] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(from + part * kLanes));
      }
      for (int i = 0; i < kGradientRows; ++i) {
        std::uint32_t word;
        __builtin_memcpy(&word, factors + (row + i) * count + j, sizeof word);
        const __m512bh factor = pair_of(word);
        for (int part = 0; part < kColumns; ++part) {
          products[i][part] = _mm512_dpbf16_ps(products[i][part], lanes[part], factor);
        }
      }
    }
    for (int i = 0; i < kGradientRows; ++i) {
      for (int part = 0; part < kColumns; ++part) {
        sums[i][part] = reinterpret_cast<Lanes>(products[i][part]);
      }
    }
  }

  /// 16 elements of a vector as 32-bit words whose upper halves are 0.
  static Words half_words(const Bf16* from) { return words_of(Full::halves(from, kLanes)); }

  std::int64_t width, count;
  VectorRows<Bf16> rows;
  std::uint32_t* turned;  ///< [width / 2, count]; of gradients: [(count + 1) / 2, width]
  Bf16* factors;          ///< [count, count]
};

/// Whether PairProducts supports the shape: vectors are whole registers of pairs, and rows of
/// `factors` have room for an element after the last vector's.
bool supports_pairs(const FeatureShape& shape) {
  return shape.width % (2 * kLanes) == 0 && shape.count % kLanes != 0;
}

void interact_pairs(const Bf16* src, const Bf16* features, const FeatureShape& shape, Bf16* dst,
                    float* scratch) {
  if (!supports_pairs(shape)) return interact(src, features, shape, dst, scratch);
  const PairProducts products(src, features, shape, scratch);
  interact_by(products, src, shape, dst, pairs_in(shape, scratch));
}

void interact_backward_pairs(const Bf16* src, const Bf16* features, const Bf16* diff_dst,
                             const FeatureShape& shape, Bf16* diff_src, Bf16* diff_features,
                             float* scratch) {
  if (!supports_pairs(shape)) {
    return interact_backward(src, features, diff_dst, shape, diff_src, diff_features, scratch);
  }
  const PairProducts products(src, features, shape, scratch);
  interact_backward_by(products, diff_dst, shape, diff_src, diff_features);
}

}  // namespace
}  // namespace nn
