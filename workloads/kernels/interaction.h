// Dot interaction of one sample's features, in register blocks. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/transpose.h"

namespace nn {
namespace {

/// Vectors whose products, or whose gradients, are computed together.
constexpr int kProductRows = 8, kGradientRows = 4;

inline std::int64_t whole_lanes(std::int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

/// Transposes [rows][columns] of 32-bit elements, both multiples of 16, to [columns][rows]; row(i)
/// points to row i.
template <class Number, class Vector, class RowOf>
void turn(std::int64_t rows, std::int64_t columns, const RowOf& row, Number* to) {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      Vector tile[kLanes];
      for (int k = 0; k < kLanes; ++k) {
        __builtin_memcpy(&tile[k], row(i + k) + c, sizeof(Vector));
      }
      swap_groups<8, kLanes>(tile);
      swap_groups<4, kLanes>(tile);
      swap_groups<2, kLanes>(tile);
      swap_groups<1, kLanes>(tile);
      for (int k = 0; k < kLanes; ++k) {
        __builtin_memcpy(to + (c + k) * rows + i, &tile[k], sizeof(Vector));
      }
    }
  }
}

/// Rows of a sample's vectors. Rows beyond the last are the last one again; results computed from
/// them are not used.
template <class Number>
struct VectorRows {
  const Number* first;
  const Number* others;
  std::int64_t stride;
  std::int64_t count;
  const Number* operator()(std::int64_t i) const {
    const std::int64_t row = i < count ? i : count - 1;
    return row == 0 ? first : others + (row - 1) * stride;
  }
};

/// Products of floats. Vectors of another type or width than whole vectors of 16 floats are copied,
/// padded with zeros.
struct FloatProducts {
  template <class T>
  FloatProducts(const T* src, const T* features, const FeatureShape& shape, float* scratch)
      : width(whole_lanes(shape.width)),
        count(whole_lanes(shape.count)),
        rows(rows_of(src, features, shape, scratch)),
        turned(scratch + count * width),
        factors(turned) {}

  /// To be called before multiply().
  void prepare() const { turn<float, Lanes>(count, width, rows, turned); }
  /// Products of kProductRows vectors from `row` on with 16 others from `other` on.
  void multiply(std::int64_t row, std::int64_t other, Lanes* sums) const {
    const float* left[kProductRows];
    for (int i = 0; i < kProductRows; ++i) {
      sums[i] = zero();
      left[i] = rows(row + i);
    }
    const float* right = turned + other;
    for (std::int64_t c = 0; c < width; ++c, right += count) {
      const Lanes lanes = Full::load(right, kLanes);
      for (int i = 0; i < kProductRows; ++i) sums[i] += lanes * left[i][c];
    }
  }

  /// To be called before combine(). Expands the gradients of the products to a symmetric matrix
  /// with zeros on its diagonal.
  template <class T>
  void prepare_gradients(const T* diff_pairs) const {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      factors[i * count + i] = 0.0F;
      const T* const from = diff_pairs + i * (i - 1) / 2;
      for_each_piece(i, [&](auto access, std::int64_t at, int lanes) {
        const Lanes value = access.load(from + at, lanes);
        access.store(factors + i * count + at, value, lanes);
        for (int lane = 0; lane < lanes; ++lane) factors[(at + lane) * count + i] = value[lane];
      });
    }
  }
  /// Gradients of kGradientRows vectors from `row` on, 16 kColumns elements of each from `column`
  /// on.
  template <int kColumns>
  void combine(std::int64_t row, std::int64_t column, Lanes (*sums)[kColumns]) const {
    for (int i = 0; i < kGradientRows; ++i) {
      for (int part = 0; part < kColumns; ++part) sums[i][part] = zero();
    }
    for (std::int64_t j = 0; j < rows.count; ++j) {
      const float* const from = rows(j) + column;
      Lanes lanes[kColumns];
      for (int part = 0; part < kColumns; ++part) {
        lanes[part] = Full::load(from + part * kLanes, kLanes);
      }
      for (int i = 0; i < kGradientRows; ++i) {
        const float factor = factors[(row + i) * count + j];
        for (int part = 0; part < kColumns; ++part) sums[i][part] += lanes[part] * factor;
      }
    }
  }

 private:
  template <class T>
  VectorRows<float> rows_of(const T* src, const T* features, const FeatureShape& shape,
                            float* vectors) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (shape.width == width) return {src, features, width, shape.count};
    }
    for (std::int64_t i = 0; i < shape.count; ++i) {
      const T* const from = i == 0 ? src : features + (i - 1) * shape.width;
      for_each_piece(shape.width, [&](auto access, std::int64_t at, int lanes) {
        Full::store(vectors + i * width + at, access.load(from + at, lanes), kLanes);
      });
    }
    return {vectors, vectors + width, width, shape.count};
  }

 public:
  std::int64_t width, count;
  VectorRows<float> rows;
  float* turned;   ///< [width, count]
  float* factors;  ///< [count, count], in the same place
};

/// `pairs`: scratch for the products of a sample.
template <class T, class Products>
void interact_by(const Products& products, const T* src, const FeatureShape& shape, T* dst,
                 float* pairs) {
  for_each_piece(shape.width, [&](auto access, std::int64_t at, int width) {
    access.store(dst + at, access.load(src + at, width), width);
  });
  products.prepare();
  Lanes sums[kProductRows];
  for (std::int64_t first = 0; first < shape.count; first += kProductRows) {
    const std::int64_t end =
        first + kProductRows < shape.count ? first + kProductRows : shape.count;
    for (std::int64_t other = 0; other < end - 1; other += kLanes) {
      products.multiply(first, other, sums);
      for (std::int64_t i = first; i < end; ++i) {
        float* const to = pairs + i * (i - 1) / 2 + other;
        const std::int64_t left = i - other;
        if (left <= 0) continue;
        if (left >= kLanes) {
          Full::store(to, sums[i - first], kLanes);
        } else {
          Partial::store(to, sums[i - first], static_cast<int>(left));
        }
      }
    }
  }
  for_each_piece(shape.count * (shape.count - 1) / 2, [&](auto access, std::int64_t at, int width) {
    access.store(dst + shape.width + at, access.load(pairs + at, width), width);
  });
}

template <int kColumns, class T, class Products>
void combine_columns(const Products& products, const T* diff_dst, const FeatureShape& shape,
                     std::int64_t column, T* diff_src, T* diff_features) {
  Lanes sums[kGradientRows][kColumns];
  for (std::int64_t first = 0; first < shape.count; first += kGradientRows) {
    products.template combine<kColumns>(first, column, sums);
    for (std::int64_t i = first; i < first + kGradientRows && i < shape.count; ++i) {
      T* const to = i == 0 ? diff_src : diff_features + (i - 1) * shape.width;
      for (int part = 0; part < kColumns; ++part) {
        const std::int64_t at = column + part * kLanes;
        const std::int64_t left = shape.width - at;
        const int width = left < kLanes ? static_cast<int>(left) : kLanes;
        Lanes value = sums[i - first][part];
        if (width == kLanes) {
          if (i == 0) value += Full::load(diff_dst + at, kLanes);
          Full::store(to + at, value, kLanes);
        } else {
          if (i == 0) value += Partial::load(diff_dst + at, width);
          Partial::store(to + at, value, width);
        }
      }
    }
  }
}

template <class T, class Products>
void interact_backward_by(const Products& products, const T* diff_dst, const FeatureShape& shape,
                          T* diff_src, T* diff_features) {
  products.prepare_gradients(diff_dst + shape.width);
  constexpr int kColumns = 4;
  std::int64_t column = 0;
  for (; column + kColumns * kLanes <= whole_lanes(shape.width); column += kColumns * kLanes) {
    combine_columns<kColumns>(products, diff_dst, shape, column, diff_src, diff_features);
  }
  for (; column < shape.width; column += kLanes) {
    combine_columns<1>(products, diff_dst, shape, column, diff_src, diff_features);
  }
}

/// The end of the scratch, which Products do not use.
inline float* pairs_in(const FeatureShape& shape, float* scratch) {
  const std::int64_t vectors = whole_lanes(shape.count), numbers = whole_lanes(shape.width);
  return scratch + vectors * (numbers + (vectors > numbers ? vectors : numbers));
}

template <class T>
void interact(const T* src, const T* features, const FeatureShape& shape, T* dst, float* scratch) {
  const FloatProducts products(src, features, shape, scratch);
  interact_by(products, src, shape, dst, pairs_in(shape, scratch));
}

template <class T>
void interact_backward(const T* src, const T* features, const T* diff_dst,
                       const FeatureShape& shape, T* diff_src, T* diff_features, float* scratch) {
  const FloatProducts products(src, features, shape, scratch);
  interact_backward_by(products, diff_dst, shape, diff_src, diff_features);
}

}  // namespace
}  // namespace nn
