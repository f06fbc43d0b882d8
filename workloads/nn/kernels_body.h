// The kernels on columns, and the rules of all kernels' source: compiled once per instruction set,
// included by kernels_table.h and nothing else. Hides nothing. Everything has internal linkage and
// calls nothing from the standard library: a shared inline function compiled here for AVX-512 could
// otherwise be the copy that the linker keeps for everyone.
#pragma once

#include "workloads/nn/kernels.h"
#include "workloads/nn/kernels_lanes.h"
#include "workloads/nn/kernels_rows.h"
#include "workloads/nn/kernels_tiles.h"

namespace nn {
namespace {

/// Rows summed in float before the sum goes on in double.
constexpr std::int64_t kFloatRows = 256;

inline void add_to(double* sums, const Lanes& value, int width) {
  for (int lane = 0; lane < width; ++lane) sums[lane] += static_cast<double>(value[lane]);
}

/// Rows [begin, end) of a column: sums of distances from `centre`, and of their squares.
struct Distances {
  Lanes sum = zero(), squares = zero();
};
template <class Access, class T>
Distances distances_of(const T* src, const Column& column, std::int64_t begin, std::int64_t end,
                       const Lanes& centre) {
  Lanes sums[4] = {zero(), zero(), zero(), zero()};
  Lanes squares[4] = {zero(), zero(), zero(), zero()};
  const auto one = [&](std::int64_t row, int part) {
    const Lanes distance = load_on_way<Access>(src + row * column.stride, column.width) - centre;
    sums[part] += distance;
    squares[part] += distance * distance;
  };
  std::int64_t row = begin;
  for (; row + 4 <= end; row += 4) {
    for (int part = 0; part < 4; ++part) one(row + part, part);
  }
  for (; row < end; ++row) one(row, 0);
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]),
          (squares[0] + squares[1]) + (squares[2] + squares[3])};
}

/// Each piece's distances are from the mean of those before it, and the first one's from its own:
/// their squares are at most twice those from the mean of all, so that none are lost in the
/// difference. Pieces are joined as Chan, Golub and LeVeque do.
template <class Access, class T>
void moments_of(const T* src, const Column& column, double* mean, double* squares) {
  const int width = column.width;
  double means[kLanes] = {}, sums[kLanes] = {};
  Lanes centre = zero();
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    const auto before = static_cast<double>(begin), here = static_cast<double>(end - begin);
    if (begin == 0) {
      const Lanes sum = distances_of<Access>(src, column, begin, end, zero()).sum;
      for (int lane = 0; lane < kLanes; ++lane) {
        means[lane] = static_cast<double>(sum[lane]) / here;
        centre[lane] = static_cast<float>(means[lane]);
      }
    }
    const Distances piece = distances_of<Access>(src, column, begin, end, centre);
    const double share = here / (before + here), per_row = 1.0 / here;
    for (int lane = 0; lane < kLanes; ++lane) {
      const double distance = static_cast<double>(piece.sum[lane]) * per_row;
      const double own = static_cast<double>(piece.squares[lane]) - distance * distance * here;
      const double apart = static_cast<double>(centre[lane]) + distance - means[lane];
      sums[lane] += own + apart * apart * before * share;
      means[lane] += apart * share;
      centre[lane] = static_cast<float>(means[lane]);
    }
  }
  for (int lane = 0; lane < width; ++lane) {
    mean[lane] = means[lane];
    squares[lane] = sums[lane] < 0.0 ? 0.0 : sums[lane];
  }
}

enum class Adds { kNothing, kValue, kNormalized };

/// kKeeps: the signs go to `passed`.
template <class Access, bool kRelu, Adds kAdds, bool kKeeps, class T>
void normalize_rows(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
                    PassedBits* passed, const Column& column) {
  const int width = column.width;
  const Lanes m = Access::load(norm.mean, width);
  const Lanes s = Access::load(norm.scale, width);
  const Lanes b = Access::load(norm.shift, width);
  Lanes other_m = zero(), other_s = zero(), other_b = zero();
  if (kAdds == Adds::kNormalized) {
    other_m = Access::load(residual.norm->mean, width);
    other_s = Access::load(residual.norm->scale, width);
    other_b = Access::load(residual.norm->shift, width);
  }
  const auto one = [&](std::int64_t row) {
    const std::int64_t at = row * column.stride;
    Lanes value = (load_on_way<Access>(src + at, width) - m) * s + b;
    if (kAdds == Adds::kValue) value += load_on_way<Access>(residual.src + at, width);
    if (kAdds == Adds::kNormalized) {
      value += (load_on_way<Access>(residual.src + at, width) - other_m) * other_s + other_b;
    }
    PassedBits signs = 0;
    if (kKeeps) signs = signs_of(value);
    if (kRelu) value = relu_of(value);
    Access::store(dst + at, value, width);
    return signs;
  };
  // The signs of four rows are one store: with one for each, stores would set the pace.
  std::int64_t row = 0;
  for (; row + 4 <= column.rows; row += 4) {
    const std::uint64_t first = one(row), second = one(row + 1), third = one(row + 2),
                        fourth = one(row + 3);
    const std::uint64_t signs = first | second << 16 | third << 32 | fourth << 48;
    if (kKeeps) __builtin_memcpy(passed + row, &signs, sizeof signs);
  }
  for (; row < column.rows; ++row) {
    const PassedBits signs = one(row);
    if (kKeeps) passed[row] = signs;
  }
}

template <class Access, Adds kAdds, class T>
void normalize_adding(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
                      PassedBits* passed, const Column& column, bool relu) {
  const auto run = [&](auto rows) { rows(src, norm, residual, dst, passed, column); };
  if (!relu) return run(normalize_rows<Access, false, kAdds, false, T>);
  if (passed == nullptr) return run(normalize_rows<Access, true, kAdds, false, T>);
  run(normalize_rows<Access, true, kAdds, true, T>);
}

template <class Access, class T>
void normalize_with(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
                    PassedBits* passed, const Column& column, bool relu) {
  const auto run = [&](auto adding) { adding(src, norm, residual, dst, passed, column, relu); };
  if (residual.src == nullptr) return run(normalize_adding<Access, Adds::kNothing, T>);
  if (residual.norm == nullptr) return run(normalize_adding<Access, Adds::kValue, T>);
  run(normalize_adding<Access, Adds::kNormalized, T>);
}

enum class Masks { kNothing, kBits, kGate };

/// A gradient's rows, its factors loaded once.
template <class Access, bool kSecond, Masks kMasks, class T>
class GradientRows {
 public:
  GradientRows(const GradientSource<T>& gradient, const Column& column)
      : gradient_(gradient), column_(column) {
    if (kMasks != Masks::kGate) return;
    scale_ = Access::load(gradient.gate->scale, column.width);
    shift_ = Access::load(gradient.gate->shift, column.width);
  }
  /// Of a row where the source is x above its mean.
  Lanes at(std::int64_t row, const Lanes& x) const {
    const std::int64_t at = row * column_.stride;
    Lanes value = load_on_way<Access>(gradient_.first + at, column_.width);
    if (kSecond) value += load_on_way<Access>(gradient_.second + at, column_.width);
    if (kMasks == Masks::kBits) value = masked(value, gradient_.passed[row]);
    if (kMasks == Masks::kGate) value = x * scale_ + shift_ > 0.0F ? value : zero();
    return value;
  }

 private:
  const GradientSource<T>& gradient_;
  const Column& column_;
  Lanes scale_ = zero(), shift_ = zero();
};

/// Sums of what `use` makes of each row's place and gradient. Even and odd rows have sums of their
/// own, so that additions need not wait for each other.
template <class Access, bool kSecond, Masks kMasks, class T, class Use>
void gradient_sums_rows(const T* src, const GradientSource<T>& gradient, const Column& column,
                        const float* mean, double* sum, double* product, const Use& use) {
  const int width = column.width;
  const GradientRows<Access, kSecond, kMasks, T> rows(gradient, column);
  const Lanes m = Access::load(mean, width);
  for (int lane = 0; lane < width; ++lane) sum[lane] = product[lane] = 0.0;
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    Lanes sums[2] = {zero(), zero()};
    Lanes products[2] = {zero(), zero()};
    const auto one = [&](std::int64_t row, Lanes& part, Lanes& product_part) {
      const std::int64_t at = row * column.stride;
      const Lanes x = load_on_way<Access>(src + at, width) - m;
      const Lanes g = use(at, rows.at(row, x));
      part += g;
      product_part += g * x;
    };
    std::int64_t row = begin;
    for (; row + 2 <= end; row += 2) {
      one(row, sums[0], products[0]);
      one(row + 1, sums[1], products[1]);
    }
    if (row < end) one(row, sums[0], products[0]);
    add_to(sum, sums[0] + sums[1], width);
    add_to(product, products[0] + products[1], width);
  }
}

template <class Access, bool kSecond, Masks kMasks, class T>
void gradient_apply_rows(const T* src, const GradientSource<T>& gradient, T* diff_src,
                         const Column& column, const float* mean, const float* slope,
                         const float* offset, const float* tilt) {
  const int width = column.width;
  const GradientRows<Access, kSecond, kMasks, T> rows(gradient, column);
  const Lanes m = Access::load(mean, width);
  const Lanes a = Access::load(slope, width);
  const Lanes b = Access::load(offset, width);
  const Lanes c = Access::load(tilt, width);
  for (std::int64_t row = 0; row < column.rows; ++row) {
    const std::int64_t at = row * column.stride;
    const Lanes x = load_on_way<Access>(src + at, width) - m;
    const Lanes g = rows.at(row, x);
    Access::store(diff_src + at, a * g - b - c * x, width);
  }
}

/// Calls `body.template run<Access, kSecond, kMasks>()` for the case at hand.
template <class Access, bool kSecond, class T, class Body>
void with_masks(const GradientSource<T>& gradient, const Body& body) {
  if (gradient.passed != nullptr) return body.template run<Access, kSecond, Masks::kBits>();
  if (gradient.gate != nullptr) return body.template run<Access, kSecond, Masks::kGate>();
  return body.template run<Access, kSecond, Masks::kNothing>();
}
template <class T, class Body>
void with_case(const GradientSource<T>& gradient, int width, const Body& body) {
  const bool second = gradient.second != nullptr;
  if (width == kLanes && second) return with_masks<Full, true>(gradient, body);
  if (width == kLanes) return with_masks<Full, false>(gradient, body);
  if (second) return with_masks<Partial, true>(gradient, body);
  return with_masks<Partial, false>(gradient, body);
}

template <class T>
struct SumsBody {
  const T* src;
  const GradientSource<T>& gradient;
  T* kept;
  const Column& column;
  const float* mean;
  double* sum;
  double* product;
  template <class Access, bool kSecond, Masks kMasks>
  void run() const {
    const int width = column.width;
    const auto sums = [&](const auto& use) {
      gradient_sums_rows<Access, kSecond, kMasks>(src, gradient, column, mean, sum, product, use);
    };
    if (kept == nullptr) return sums([](std::int64_t, const Lanes& g) { return g; });
    sums([&](std::int64_t at, const Lanes& g) {
      Access::store(kept + at, g, width);
      return as_stored(kept, g);
    });
  }
};

template <class T>
struct ApplyBody {
  const T* src;
  const GradientSource<T>& gradient;
  T* diff_src;
  const Column& column;
  const float *mean, *slope, *offset, *tilt;
  template <class Access, bool kSecond, Masks kMasks>
  void run() const {
    gradient_apply_rows<Access, kSecond, kMasks>(src, gradient, diff_src, column, mean, slope,
                                                 offset, tilt);
  }
};

template <class T>
struct FrozenBody {
  const T* src;
  const GradientSource<T>& gradient;
  T* diff_src;
  T* diff_residual;
  const Column& column;
  const float *mean, *slope;
  double* sum;
  double* product;
  template <class Access, bool kSecond, Masks kMasks>
  void run() const {
    const int width = column.width;
    const Lanes a = Access::load(slope, width);
    gradient_sums_rows<Access, kSecond, kMasks>(src, gradient, column, mean, sum, product,
                                                [&](std::int64_t at, const Lanes& g) {
                                                  if (diff_residual != nullptr)
                                                    Access::store(diff_residual + at, g, width);
                                                  Access::store(diff_src + at, a * g, width);
                                                  return g;
                                                });
  }
};

template <class T>
void moments(const T* src, const Column& column, double* mean, double* squares) {
  if (column.width == kLanes) {
    moments_of<Full>(src, column, mean, squares);
  } else {
    moments_of<Partial>(src, column, mean, squares);
  }
}

template <class T>
void normalize(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
               PassedBits* passed, const Column& column, bool relu, Stores stores) {
  const auto run = [&](auto rows) { rows(src, norm, residual, dst, passed, column, relu); };
  if (column.width < kLanes) return run(normalize_with<Partial, T>);
  if (stores == Stores::kCached || !can_stream(dst, column.stride)) {
    return run(normalize_with<Full, T>);
  }
  run(normalize_with<Streamed, T>);
  finish_streams();
}

template <class T>
void gradient_sums(const T* src, const GradientSource<T>& gradient, T* kept, const Column& column,
                   const float* mean, double* sum, double* product) {
  with_case(gradient, column.width, SumsBody<T>{src, gradient, kept, column, mean, sum, product});
}

template <class T>
void gradient_apply(const T* src, const GradientSource<T>& gradient, T* diff_src,
                    const Column& column, const float* mean, const float* slope,
                    const float* offset, const float* tilt) {
  with_case(gradient, column.width,
            ApplyBody<T>{src, gradient, diff_src, column, mean, slope, offset, tilt});
}

template <class T>
void gradient_frozen(const T* src, const GradientSource<T>& gradient, T* diff_src, T* diff_residual,
                     const Column& column, const float* mean, const float* slope, double* sum,
                     double* product) {
  with_case(
      gradient, column.width,
      FrozenBody<T>{src, gradient, diff_src, diff_residual, column, mean, slope, sum, product});
}

template <class T>
void accumulate(T* dst, const T* src, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    using Access = decltype(access);
    const Lanes before = load_on_way<Access>(dst + at, width);
    Access::store(dst + at, before + load_on_way<Access>(src + at, width), width);
  });
}

template <class From, class To>
void convert(const From* src, To* dst, std::int64_t count) {
  for_each_piece(count, [&](auto access, std::int64_t at, int width) {
    access.store(dst + at, load_on_way<decltype(access)>(src + at, width), width);
  });
}

template <class Access, class T>
void row_mean_of(const T* src, const Column& column, float* dst) {
  double sums[kLanes] = {};
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    add_to(sums, distances_of<Access>(src, column, begin, end, zero()).sum, column.width);
  }
  for (int lane = 0; lane < column.width; ++lane) {
    dst[lane] = static_cast<float>(sums[lane] / static_cast<double>(column.rows));
  }
}

template <class T>
void row_mean(const T* src, const Column& column, float* dst) {
  if (column.width == kLanes) {
    row_mean_of<Full>(src, column, dst);
  } else {
    row_mean_of<Partial>(src, column, dst);
  }
}

template <class Access, class T>
void fill_rows_of(T* dst, const Column& column, const float* value) {
  const Lanes lanes = Access::load(value, column.width);
  for (std::int64_t row = 0; row < column.rows; ++row) {
    store_on_way<Access>(dst + row * column.stride, lanes, column.width);
  }
}

template <class T>
void fill_rows(T* dst, const Column& column, const float* value) {
  if (column.width == kLanes) {
    fill_rows_of<Full>(dst, column, value);
  } else {
    fill_rows_of<Partial>(dst, column, value);
  }
}

}  // namespace
}  // namespace nn
