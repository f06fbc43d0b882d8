// The kernels' source, compiled once per instruction set: included by kernels_*.cpp and nothing
// else. Hides nothing. Everything has internal linkage and calls nothing from the standard library:
// a shared inline function compiled here for AVX-512 could otherwise be the copy that the linker
// keeps for everyone.
#pragma once

#include "workloads/nn/kernels.h"

namespace nn {
namespace {

constexpr int kLanes = 16;
/// Rows summed in float before the sum goes on in double.
constexpr std::int64_t kFloatRows = 256;

using Lanes = float __attribute__((vector_size(64), aligned(4)));
using Mask = int __attribute__((vector_size(64), aligned(4)));

inline Lanes zero() { return Lanes{}; }

/// Column access for 16 channels side by side.
struct Full {
  static Lanes load(const float* from, int /*width*/) {
    Lanes value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(float* to, const Lanes& value, int /*width*/) {
    __builtin_memcpy(to, &value, sizeof value);
  }
};

/// Column access for fewer.
struct Partial {
  static Lanes load(const float* from, int width) {
    Lanes value = zero();
    for (int lane = 0; lane < width; ++lane) value[lane] = from[lane];
    return value;
  }
  static void store(float* to, const Lanes& value, int width) {
    for (int lane = 0; lane < width; ++lane) to[lane] = value[lane];
  }
};

// What is not a number must stay so, or a diverged network would look like one that learns nothing.
inline Lanes relu_of(const Lanes& value) { return value < 0.0F ? zero() : value; }

inline void add_to(double* sums, const Lanes& value, int width) {
  for (int lane = 0; lane < width; ++lane) sums[lane] += static_cast<double>(value[lane]);
}

template <class Access>
void moments_of(const float* src, const Column& column, double* mean, double* squares) {
  const int width = column.width;
  for (int lane = 0; lane < width; ++lane) mean[lane] = squares[lane] = 0.0;
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    Lanes sums[4] = {zero(), zero(), zero(), zero()};
    std::int64_t row = begin;
    for (; row + 4 <= end; row += 4) {
      for (int part = 0; part < 4; ++part) {
        sums[part] += Access::load(src + (row + part) * column.stride, width);
      }
    }
    for (; row < end; ++row) sums[0] += Access::load(src + row * column.stride, width);
    add_to(mean, (sums[0] + sums[1]) + (sums[2] + sums[3]), width);
  }
  const double scale = 1.0 / static_cast<double>(column.rows);
  Lanes centre = zero();
  for (int lane = 0; lane < width; ++lane) {
    mean[lane] *= scale;
    centre[lane] = static_cast<float>(mean[lane]);
  }
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    Lanes sums[4] = {zero(), zero(), zero(), zero()};
    std::int64_t row = begin;
    for (; row + 4 <= end; row += 4) {
      for (int part = 0; part < 4; ++part) {
        const Lanes distance = Access::load(src + (row + part) * column.stride, width) - centre;
        sums[part] += distance * distance;
      }
    }
    for (; row < end; ++row) {
      const Lanes distance = Access::load(src + row * column.stride, width) - centre;
      sums[0] += distance * distance;
    }
    add_to(squares, (sums[0] + sums[1]) + (sums[2] + sums[3]), width);
  }
  // The centre was rounded to float: what that shifted every distance by leaves the sum again.
  for (int lane = 0; lane < width; ++lane) {
    const double shift = mean[lane] - static_cast<double>(centre[lane]);
    const double corrected = squares[lane] - shift * shift * static_cast<double>(column.rows);
    squares[lane] = corrected < 0.0 ? 0.0 : corrected;
  }
}

template <class Access, bool kRelu, bool kResidual>
void normalize_rows(const float* src, const float* residual, float* dst, const Column& column,
                    const float* mean, const float* scale, const float* shift) {
  const int width = column.width;
  const Lanes m = Access::load(mean, width);
  const Lanes s = Access::load(scale, width);
  const Lanes b = Access::load(shift, width);
  for (std::int64_t row = 0; row < column.rows; ++row) {
    const std::int64_t at = row * column.stride;
    Lanes value = (Access::load(src + at, width) - m) * s + b;
    if (kResidual) value += Access::load(residual + at, width);
    if (kRelu) value = relu_of(value);
    Access::store(dst + at, value, width);
  }
}

template <class Access>
void normalize_with(const float* src, const float* residual, float* dst, const Column& column,
                    const float* mean, const float* scale, const float* shift, bool relu) {
  if (relu && residual != nullptr) {
    normalize_rows<Access, true, true>(src, residual, dst, column, mean, scale, shift);
  } else if (relu) {
    normalize_rows<Access, true, false>(src, residual, dst, column, mean, scale, shift);
  } else if (residual != nullptr) {
    normalize_rows<Access, false, true>(src, residual, dst, column, mean, scale, shift);
  } else {
    normalize_rows<Access, false, false>(src, residual, dst, column, mean, scale, shift);
  }
}

template <class Access, bool kSecond, bool kMask>
Lanes gradient_at(const GradientSource& gradient, std::int64_t at, int width) {
  Lanes value = Access::load(gradient.first + at, width);
  if (kSecond) value += Access::load(gradient.second + at, width);
  if (kMask) value = Access::load(gradient.output + at, width) > 0.0F ? value : zero();
  return value;
}

/// Gives each row's place and gradient to `use` as well.
template <class Access, bool kSecond, bool kMask, class Use>
void gradient_sums_rows(const float* src, const GradientSource& gradient, const Column& column,
                        const float* mean, double* sum, double* product, const Use& use) {
  const int width = column.width;
  const Lanes m = Access::load(mean, width);
  for (int lane = 0; lane < width; ++lane) sum[lane] = product[lane] = 0.0;
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    Lanes sums[2] = {zero(), zero()};
    Lanes products[2] = {zero(), zero()};
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * column.stride;
      const Lanes g = gradient_at<Access, kSecond, kMask>(gradient, at, width);
      sums[row & 1] += g;
      products[row & 1] += g * (Access::load(src + at, width) - m);
      use(at, g);
    }
    add_to(sum, sums[0] + sums[1], width);
    add_to(product, products[0] + products[1], width);
  }
}

template <class Access, bool kSecond, bool kMask>
void gradient_apply_rows(const float* src, const GradientSource& gradient, float* diff_src,
                         float* diff_residual, const Column& column, const float* mean,
                         const float* slope, const float* offset, const float* tilt) {
  const int width = column.width;
  const Lanes m = Access::load(mean, width);
  const Lanes a = Access::load(slope, width);
  const Lanes b = Access::load(offset, width);
  const Lanes c = Access::load(tilt, width);
  for (std::int64_t row = 0; row < column.rows; ++row) {
    const std::int64_t at = row * column.stride;
    const Lanes g = gradient_at<Access, kSecond, kMask>(gradient, at, width);
    const Lanes x = Access::load(src + at, width) - m;
    if (diff_residual != nullptr) Access::store(diff_residual + at, g, width);
    Access::store(diff_src + at, a * g - b - c * x, width);
  }
}

/// Calls `body.template run<Access, kSecond, kMask>()` for the case at hand.
template <class Body>
void with_case(const GradientSource& gradient, int width, const Body& body) {
  const bool second = gradient.second != nullptr;
  const bool mask = gradient.output != nullptr;
  if (width == kLanes) {
    if (second && mask) return body.template run<Full, true, true>();
    if (second) return body.template run<Full, true, false>();
    if (mask) return body.template run<Full, false, true>();
    return body.template run<Full, false, false>();
  }
  if (second && mask) return body.template run<Partial, true, true>();
  if (second) return body.template run<Partial, true, false>();
  if (mask) return body.template run<Partial, false, true>();
  return body.template run<Partial, false, false>();
}

struct SumsBody {
  const float* src;
  const GradientSource& gradient;
  const Column& column;
  const float* mean;
  double* sum;
  double* product;
  template <class Access, bool kSecond, bool kMask>
  void run() const {
    gradient_sums_rows<Access, kSecond, kMask>(src, gradient, column, mean, sum, product,
                                               [](std::int64_t, const Lanes&) {});
  }
};

struct ApplyBody {
  const float* src;
  const GradientSource& gradient;
  float* diff_src;
  float* diff_residual;
  const Column& column;
  const float *mean, *slope, *offset, *tilt;
  template <class Access, bool kSecond, bool kMask>
  void run() const {
    gradient_apply_rows<Access, kSecond, kMask>(src, gradient, diff_src, diff_residual, column,
                                                mean, slope, offset, tilt);
  }
};

struct FrozenBody {
  const float* src;
  const GradientSource& gradient;
  float* diff_src;
  float* diff_residual;
  const Column& column;
  const float *mean, *slope;
  double* sum;
  double* product;
  template <class Access, bool kSecond, bool kMask>
  void run() const {
    const int width = column.width;
    const Lanes a = Access::load(slope, width);
    gradient_sums_rows<Access, kSecond, kMask>(src, gradient, column, mean, sum, product,
                                               [&](std::int64_t at, const Lanes& g) {
                                                 if (diff_residual != nullptr)
                                                   Access::store(diff_residual + at, g, width);
                                                 Access::store(diff_src + at, a * g, width);
                                               });
  }
};

void moments(const float* src, const Column& column, double* mean, double* squares) {
  if (column.width == kLanes) {
    moments_of<Full>(src, column, mean, squares);
  } else {
    moments_of<Partial>(src, column, mean, squares);
  }
}

void normalize(const float* src, const float* residual, float* dst, const Column& column,
               const float* mean, const float* scale, const float* shift, bool relu) {
  if (column.width == kLanes) {
    normalize_with<Full>(src, residual, dst, column, mean, scale, shift, relu);
  } else {
    normalize_with<Partial>(src, residual, dst, column, mean, scale, shift, relu);
  }
}

void gradient_sums(const float* src, const GradientSource& gradient, const Column& column,
                   const float* mean, double* sum, double* product) {
  with_case(gradient, column.width, SumsBody{src, gradient, column, mean, sum, product});
}

void gradient_apply(const float* src, const GradientSource& gradient, float* diff_src,
                    float* diff_residual, const Column& column, const float* mean,
                    const float* slope, const float* offset, const float* tilt) {
  with_case(gradient, column.width,
            ApplyBody{src, gradient, diff_src, diff_residual, column, mean, slope, offset, tilt});
}

void gradient_frozen(const float* src, const GradientSource& gradient, float* diff_src,
                     float* diff_residual, const Column& column, const float* mean,
                     const float* slope, double* sum, double* product) {
  with_case(gradient, column.width,
            FrozenBody{src, gradient, diff_src, diff_residual, column, mean, slope, sum, product});
}

void accumulate(float* dst, const float* src, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) dst[i] += src[i];
}

template <class Access>
void row_mean_of(const float* src, const Column& column, float* dst) {
  double sums[kLanes] = {};
  for (std::int64_t begin = 0; begin < column.rows; begin += kFloatRows) {
    const std::int64_t end = begin + kFloatRows < column.rows ? begin + kFloatRows : column.rows;
    Lanes sum = zero();
    for (std::int64_t row = begin; row < end; ++row) {
      sum += Access::load(src + row * column.stride, column.width);
    }
    add_to(sums, sum, column.width);
  }
  for (int lane = 0; lane < column.width; ++lane) {
    dst[lane] = static_cast<float>(sums[lane] / static_cast<double>(column.rows));
  }
}

void row_mean(const float* src, const Column& column, float* dst) {
  if (column.width == kLanes) {
    row_mean_of<Full>(src, column, dst);
  } else {
    row_mean_of<Partial>(src, column, dst);
  }
}

void fill_rows(float* dst, const Column& column, const float* value) {
  for (std::int64_t row = 0; row < column.rows; ++row) {
    for (int lane = 0; lane < column.width; ++lane) dst[row * column.stride + lane] = value[lane];
  }
}

constexpr Kernels kTable = {moments,         normalize,  gradient_sums, gradient_apply,
                            gradient_frozen, accumulate, row_mean,      fill_rows};

}  // namespace
}  // namespace nn
