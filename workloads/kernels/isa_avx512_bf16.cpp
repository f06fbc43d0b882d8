// The kernels compiled for avx512 with bfloat16, and those that multiply such numbers.
// Hides the compiler flags (CMakeLists.txt) and the instructions. As in kernels_body.h, everything
// has internal linkage and calls nothing from the standard library.
#include <immintrin.h>

#include "workloads/kernels/bf16_pairs.h"
#include "workloads/kernels/kernels.h"
#include "workloads/kernels/prefetch.h"
#include "workloads/kernels/table.h"
#include "workloads/kernels/volume_forward.h"

namespace nn {
namespace {

constexpr int kPanels = Bf16Products::kPanels;
constexpr int kRightColumns = 4;

/// Two rows, 16 columns at a time, of which the last ones may be fewer; or one row beside zeros.
template <bool kBoth>
inline void pack_pair(const Bf16* lower, const Bf16* upper, std::int64_t columns,
                      std::uint32_t* pairs, std::int64_t stride) {
  for (std::int64_t column = 0; column < columns; column += kLanes, pairs += stride) {
    const std::int64_t left = columns - column;
    const auto mask = static_cast<__mmask16>(left < kLanes ? (1 << left) - 1 : 0xFFFF);
    const __m256i first = _mm256_maskz_loadu_epi16(mask, lower + column);
    const __m256i second =
        kBoth ? _mm256_maskz_loadu_epi16(mask, upper + column) : _mm256_setzero_si256();
    _mm512_storeu_si512(pairs, interleaved(first, second));
  }
}

/// Words from what is read to what is asked for, in a stream of neighbouring points.
constexpr std::int64_t kAhead = 1024;

/// Pairs of points, both of which are one load.
inline void pack_neighbours(const Bf16* from, std::int64_t count, std::uint32_t* pairs) {
  for (std::int64_t i = 0; i < count; ++i, from += 2 * kLanes, pairs += kLanes) {
    __builtin_prefetch(from + kAhead);
    _mm512_storeu_si512(pairs, interleaved(_mm512_loadu_si512(from)));
  }
}

/// Rows of 16 that are neighbours.
void pack_neighbours(const Bf16Products::Rows& rows, std::uint32_t* pairs) {
  const std::int64_t count = rows.count / 2;
  pack_neighbours(rows.first, count, pairs);
  const Bf16* const from = rows.first + count * 2 * kLanes;
  pairs += count * kLanes;
  if (rows.count % 2 != 0) pack_pair<false>(from, nullptr, kLanes, pairs, kLanes);
}

/// Row by row, as all panels of a row stand in the same lines.
void pack_rows(const Bf16Products::Rows& rows, std::uint32_t* pairs, std::int64_t stride) {
  if (rows.stride == kLanes && rows.columns == kLanes) return pack_neighbours(rows, pairs);
  constexpr std::int64_t kRowsAhead = 16;
  const std::int64_t bytes = rows.columns * static_cast<std::int64_t>(sizeof(Bf16));
  const Bf16* from = rows.first;
  std::int64_t row = 0;
  for (; row + 2 <= rows.count; row += 2, from += 2 * rows.stride, pairs += kLanes) {
    if (row + kRowsAhead + 2 <= rows.count) {
      fetch(from + kRowsAhead * rows.stride, bytes);
      fetch(from + (kRowsAhead + 1) * rows.stride, bytes);
    }
    pack_pair<true>(from, from + rows.stride, rows.columns, pairs, stride);
  }
  if (row < rows.count) pack_pair<false>(from, nullptr, rows.columns, pairs, stride);
}

inline __m256i point_at(const Bf16* point) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(point));
}

inline __m256i point_or_zero(const Bf16Products::Points& points, std::int64_t x) {
  const std::int64_t at = points.first + x * points.step;
  const bool is_there = x < points.count && at >= 0 && at < points.width;
  return is_there ? point_at(points.line + at * kLanes) : _mm256_setzero_si256();
}

/// The pair of points that `x` begins.
inline __m512i pair_of_points(const Bf16Products::Points& points, std::int64_t x) {
  return interleaved(point_or_zero(points, x), point_or_zero(points, x + 1));
}

/// Pairs within the line need no look at its ends; neighbours are one load.
void pack_points(const Bf16Products::Points& points, std::uint32_t* pairs) {
  const std::int64_t step = points.step;
  const std::int64_t before = points.first < 0 ? (-points.first + step - 1) / step : 0;
  const std::int64_t met = points.width - points.first;  // from the first one on
  const std::int64_t there = met <= 0 ? 0 : (met + step - 1) / step;
  const std::int64_t end = there < points.count ? there : points.count;
  std::int64_t x = 0;
  for (; x < points.count && x < before; x += 2, pairs += kLanes) {
    _mm512_storeu_si512(pairs, pair_of_points(points, x));
  }
  const Bf16* from = points.line + (points.first + x * step) * kLanes;
  if (step == 1) {
    const std::int64_t count = x < end ? (end - x) / 2 : 0;
    pack_neighbours(from, count, pairs);
    x += 2 * count;
    pairs += count * kLanes;
  } else {
    for (; x + 1 < end; x += 2, pairs += kLanes, from += 2 * step * kLanes) {
      __builtin_prefetch(from + kAhead);
      __builtin_prefetch(from + kAhead + step * kLanes);
      _mm512_storeu_si512(pairs, interleaved(point_at(from), point_at(from + step * kLanes)));
    }
  }
  for (; x < points.count; x += 2, pairs += kLanes) {
    _mm512_storeu_si512(pairs, pair_of_points(points, x));
  }
}

/// 4 of the panel's 16 columns from `column` on.
inline void multiply_columns(const Bf16Products::Operands& of, const Bf16Products::Sums& c,
                             bool add, int column) {
  float* const to = c.first + column * c.row_stride;
  __m512 sums[kRightColumns][kPanels];
#pragma GCC unroll 4
  for (int j = 0; j < kRightColumns; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      sums[j][i] =
          add ? _mm512_loadu_ps(to + i * c.panel_stride + j * c.row_stride) : _mm512_setzero_ps();
    }
  }
  for (std::int64_t image = 0; image < of.images; ++image) {
    const std::uint32_t* a = of.a + image * of.a_pitch.image;
    const std::uint32_t* b = of.b + image * of.b_pitch.image + column;
    for (std::int64_t line = 0; line < of.lines; ++line) {
      for (std::int64_t k = 0; k < of.pairs * kLanes; k += kLanes) {
        __m512bh left[kPanels];
#pragma GCC unroll 4
        for (int i = 0; i < kPanels; ++i) {
          left[i] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(a + i * of.a_stride + k));
        }
#pragma GCC unroll 4
        for (int j = 0; j < kRightColumns; ++j) {
          const auto right =
              reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(b[k + j])));
#pragma GCC unroll 4
          for (int i = 0; i < kPanels; ++i) {
            sums[j][i] = _mm512_dpbf16_ps(sums[j][i], left[i], right);
          }
        }
      }
      a += of.a_pitch.line;
      b += of.b_pitch.line;
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kRightColumns; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      _mm512_storeu_ps(to + i * c.panel_stride + j * c.row_stride, sums[j][i]);
    }
  }
}

void multiply(const Bf16Products::Operands& operands, const Bf16Products::Sums& c, bool add) {
  for (int column = 0; column < kLanes; column += kRightColumns) {
    multiply_columns(operands, c, add, column);
  }
}

/// Nobody knows what the value is afterwards, so that nothing of how it is made is left out.
inline void keep(__m512& value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

/// Enough sums for as many instructions to be under way as the CPU can have.
template <class Multiply>
void spend(std::int64_t instructions, const Multiply& multiply) {
  constexpr int kSums = 12;
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  __m512 operand = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < instructions; i += kSums) {
    keep(operand);
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = multiply(sums[j], operand);
  }
#pragma GCC unroll 12
  for (int j = 0; j < kSums; ++j) keep(sums[j]);
}

void spend_pairs(std::int64_t instructions) {
  spend(instructions, [](__m512 sum, __m512 operand) {
    const auto pairs = reinterpret_cast<__m512bh>(operand);
    return _mm512_dpbf16_ps(sum, pairs, pairs);
  });
}

void spend_floats(std::int64_t instructions) {
  spend(instructions,
        [](__m512 sum, __m512 operand) { return _mm512_fmadd_ps(operand, operand, sum); });
}

/// Two neighbouring numbers of a vector are a word, whose products are made and added at once; for
/// gradients, the same number of two neighbouring vectors.
struct WordProducts {
  WordProducts(const Bf16* src, const Bf16* features, const FeatureShape& shape, float* scratch)
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
      factors[i * count + rows.count] = {0};  // beside an odd vector
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

  /// Numbers of a vector as words whose upper halves are 0.
  static Words half_words(const Bf16* from) { return words_of(Full::halves(from, kLanes)); }

  std::int64_t width, count;
  VectorRows<Bf16> rows;
  std::uint32_t* turned;  ///< [width / 2, count]; of gradients: [(count + 1) / 2, width]
  Bf16* factors;          ///< [count, count]
};

/// Whether vectors are whole words of whole lanes, and a number stands beside the last vector's.
bool suits_words(const FeatureShape& shape) {
  return shape.width % (2 * kLanes) == 0 && shape.count % kLanes != 0;
}

void interact_words(const Bf16* src, const Bf16* features, const FeatureShape& shape, Bf16* dst,
                    float* scratch) {
  if (!suits_words(shape)) return interact(src, features, shape, dst, scratch);
  const WordProducts products(src, features, shape, scratch);
  interact_by(products, src, shape, dst, pairs_in(shape, scratch));
}

void interact_backward_words(const Bf16* src, const Bf16* features, const Bf16* diff_dst,
                             const FeatureShape& shape, Bf16* diff_src, Bf16* diff_features,
                             float* scratch) {
  if (!suits_words(shape)) {
    return interact_backward(src, features, diff_dst, shape, diff_src, diff_features, scratch);
  }
  const WordProducts products(src, features, shape, scratch);
  interact_backward_by(products, diff_dst, shape, diff_src, diff_features);
}

/// Products of two neighbouring input channels' bfloat16 numbers at a time.
struct PairPoints {
  using Value = Bf16;
  static constexpr std::int64_t kChannels = 2;
  using Weights = __m512bh;
  static Weights load(const Bf16* weights) {
    return reinterpret_cast<Weights>(_mm512_loadu_si512(weights));
  }
  static void add(Lanes& sum, const Weights& weights, const Bf16* src) {
    int pair = 0;
    __builtin_memcpy(&pair, src, sizeof pair);
    const auto pairs = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
    sum = reinterpret_cast<Lanes>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum), weights, pairs));
  }
};

}  // namespace

namespace detail {

const Kernels& avx512_bf16_kernels() {
  static const Kernels table = [] {
    Kernels all = table_of(base::InstructionSet::kAvx512Bf16);
    all.bf16_products = {pack_rows, pack_points, multiply, spend_pairs, spend_floats};
    all.volumes.forward_bf16 = forward_rows<PairPoints>;
    all.bf16_features.interact = interact_words;
    all.bf16_features.interact_backward = interact_backward_words;
    return all;
  }();
  return table;
}

}  // namespace detail
}  // namespace nn
