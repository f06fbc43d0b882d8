// The dot interaction of one sample's features. Hides blocks of registers and padded copies. As
// kernels_body.h, whose part it is: compiled once per instruction set, internal linkage, nothing of
// the standard library.
#pragma once

#include "workloads/nn/kernels_tiles.h"

namespace nn {
namespace {

/// The parts of the scratch, in floats. Vectors are padded with zeros to whole lanes, and their
/// number to a multiple of 16.
struct InteractionScratch {
  InteractionScratch(const FeatureShape& shape, float* scratch)
      : width((shape.width + kLanes - 1) / kLanes * kLanes),
        count((shape.count + kLanes - 1) / kLanes * kLanes),
        vectors(scratch),
        turned(vectors + count * width),
        row(turned + count * width),
        pairs(row) {}
  std::int64_t width, count;
  float* vectors;  ///< [count, width]
  float* turned;   ///< [width, count]
  float* row;      ///< forward: the result
  float* pairs;    ///< backward: [count, count], symmetric
};

/// Copies the sample's vectors into the scratch.
template <class T>
void gather_vectors(const T* src, const T* features, const FeatureShape& shape,
                    const InteractionScratch& scratch) {
  for (std::int64_t i = 0; i < scratch.count; ++i) {
    float* const to = scratch.vectors + i * scratch.width;
    if (i >= shape.count) {
      for_each_piece(scratch.width, [&](auto access, std::int64_t at, int width) {
        access.store(to + at, zero(), width);
      });
      continue;
    }
    const T* const from = i == 0 ? src : features + (i - 1) * shape.width;
    for_each_piece(shape.width, [&](auto access, std::int64_t at, int width) {
      Full::store(to + at, access.load(from + at, width), kLanes);
    });
  }
}

void turn_vectors(const InteractionScratch& scratch) {
  for (std::int64_t i = 0; i < scratch.count; i += kLanes) {
    for (std::int64_t c = 0; c < scratch.width; c += kLanes) {
      Lanes rows[kLanes];
      for (int row = 0; row < kLanes; ++row) {
        rows[row] = Full::load(scratch.vectors + (i + row) * scratch.width + c, kLanes);
      }
      swap_groups<8, kLanes>(rows);
      swap_groups<4, kLanes>(rows);
      swap_groups<2, kLanes>(rows);
      swap_groups<1, kLanes>(rows);
      for (int row = 0; row < kLanes; ++row) {
        Full::store(scratch.turned + (c + row) * scratch.count + i, rows[row], kLanes);
      }
    }
  }
}

constexpr int kInteractionRows = 8;

/// Products of 8 vectors from `first` on with 16 others from `other` on.
inline void multiply_vectors(const InteractionScratch& scratch, std::int64_t src_width,
                             std::int64_t first, std::int64_t other, Lanes* sums) {
  for (int row = 0; row < kInteractionRows; ++row) sums[row] = zero();
  const float* const left = scratch.vectors + first * scratch.width;
  const float* right = scratch.turned + other;
  for (std::int64_t c = 0; c < src_width; ++c, right += scratch.count) {
    const Lanes lanes = Full::load(right, kLanes);
    for (int row = 0; row < kInteractionRows; ++row) {
      sums[row] += lanes * left[row * scratch.width + c];
    }
  }
}

template <class T>
void interact(const T* src, const T* features, const FeatureShape& shape, T* dst, float* memory) {
  const InteractionScratch scratch(shape, memory);
  gather_vectors(src, features, shape, scratch);
  turn_vectors(scratch);
  for_each_piece(shape.width, [&](auto access, std::int64_t at, int width) {
    access.store(scratch.row + at, access.load(scratch.vectors + at, width), width);
  });
  Lanes sums[kInteractionRows];
  for (std::int64_t first = 0; first < shape.count; first += kInteractionRows) {
    const std::int64_t end =
        first + kInteractionRows < shape.count ? first + kInteractionRows : shape.count;
    for (std::int64_t other = 0; other < end - 1; other += kLanes) {
      multiply_vectors(scratch, shape.width, first, other, sums);
      for (std::int64_t i = first; i < end; ++i) {
        float* const to = scratch.row + shape.width + i * (i - 1) / 2 + other;
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
  for_each_piece(shape.width + shape.count * (shape.count - 1) / 2,
                 [&](auto access, std::int64_t at, int width) {
                   access.store(dst + at, access.load(scratch.row + at, width), width);
                 });
}

/// The gradients of the products as a symmetric matrix with zeros on its diagonal.
template <class T>
void spread_pairs(const T* diff_pairs, const FeatureShape& shape,
                  const InteractionScratch& scratch) {
  for (std::int64_t i = 0; i < shape.count; ++i) {
    scratch.pairs[i * scratch.count + i] = 0.0F;
    const T* const from = diff_pairs + i * (i - 1) / 2;
    for_each_piece(i, [&](auto access, std::int64_t at, int width) {
      const Lanes lanes = access.load(from + at, width);
      access.store(scratch.pairs + i * scratch.count + at, lanes, width);
      for (int lane = 0; lane < width; ++lane) {
        scratch.pairs[(at + lane) * scratch.count + i] = lanes[lane];
      }
    });
  }
}

/// Gradients of `kRows` vectors from `first` on, 16 kColumns numbers of each from `column` on.
template <int kRows, int kColumns>
inline void combine_vectors(const InteractionScratch& scratch, std::int64_t count,
                            std::int64_t first, std::int64_t column, Lanes (*sums)[kColumns]) {
  for (int row = 0; row < kRows; ++row) {
    for (int part = 0; part < kColumns; ++part) sums[row][part] = zero();
  }
  const float* const factors = scratch.pairs + first * scratch.count;
  for (std::int64_t j = 0; j < count; ++j) {
    const float* const from = scratch.vectors + j * scratch.width + column;
    Lanes lanes[kColumns];
    for (int part = 0; part < kColumns; ++part) {
      lanes[part] = Full::load(from + part * kLanes, kLanes);
    }
    for (int row = 0; row < kRows; ++row) {
      const float factor = factors[row * scratch.count + j];
      for (int part = 0; part < kColumns; ++part) sums[row][part] += lanes[part] * factor;
    }
  }
}

template <class T, int kColumns>
void interact_backward_columns(const T* diff_dst, const FeatureShape& shape,
                               const InteractionScratch& scratch, std::int64_t column, T* diff_src,
                               T* diff_features) {
  constexpr int kRows = 4;
  Lanes sums[kRows][kColumns];
  for (std::int64_t first = 0; first < shape.count; first += kRows) {
    combine_vectors<kRows, kColumns>(scratch, shape.count, first, column, sums);
    for (std::int64_t i = first; i < first + kRows && i < shape.count; ++i) {
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

template <class T>
void interact_backward(const T* src, const T* features, const T* diff_dst,
                       const FeatureShape& shape, T* diff_src, T* diff_features, float* memory) {
  const InteractionScratch scratch(shape, memory);
  gather_vectors(src, features, shape, scratch);
  spread_pairs(diff_dst + shape.width, shape, scratch);
  constexpr int kColumns = 4;
  std::int64_t column = 0;
  for (; column + kColumns * kLanes <= scratch.width; column += kColumns * kLanes) {
    interact_backward_columns<T, kColumns>(diff_dst, shape, scratch, column, diff_src,
                                           diff_features);
  }
  for (; column < scratch.width; column += kLanes) {
    interact_backward_columns<T, 1>(diff_dst, shape, scratch, column, diff_src, diff_features);
  }
}

}  // namespace
}  // namespace nn
