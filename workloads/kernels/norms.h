// Kernels for batch norms on columns, forward and backward. Follows the rules of lanes.h.
#pragma once

#include "workloads/kernels/columns.h"
#include "workloads/kernels/norms_streamed.h"

namespace nn {
namespace {

/// kKeeps: stores the signs to `passed`.
template <class Access, bool kRelu, Adds kAdds, bool kKeeps, class T>
void normalize_tile(const NormOperands<T>& of, const Tile& tile) {
  const int width = tile.width;
  const Lanes m = Access::load(of.norm.mean + tile.channel(), width);
  const Lanes s = Access::load(of.norm.scale + tile.channel(), width);
  const Lanes b = Access::load(of.norm.shift + tile.channel(), width);
  Lanes other_m = zero(), other_s = zero(), other_b = zero();
  if (kAdds == Adds::kNormalized) {
    other_m = Access::load(of.residual.norm->mean + tile.channel(), width);
    other_s = Access::load(of.residual.norm->scale + tile.channel(), width);
    other_b = Access::load(of.residual.norm->shift + tile.channel(), width);
  }
  const TileRows<Access, T> src(of.src, tile);
  const TileRows<Access, T> added(kAdds == Adds::kNothing ? of.src : of.residual.src, tile);
  T* const dst = of.dst + tile.begin;
  const std::int64_t stride = tile.stride, rows = tile.rows;
  const auto one = [&](std::int64_t row) {
    Lanes value = (src(row) - m) * s + b;
    if (kAdds == Adds::kValue) value += added(row);
    if (kAdds == Adds::kNormalized) value += (added(row) - other_m) * other_s + other_b;
    PassedBits signs = 0;
    if (kKeeps) signs = signs_of(value);
    if (kRelu) value = relu_of(value);
    Access::store(dst + row * stride, value, width);
    return signs;
  };
  PassedBits* const passed = kKeeps ? of.passed + tile.signs : nullptr;
  // The signs of four rows take one store: with one for each row, stores would be the bottleneck.
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const std::uint64_t first = one(row), second = one(row + 1), third = one(row + 2),
                        fourth = one(row + 3);
    const std::uint64_t signs = first | second << 16 | third << 32 | fourth << 48;
    if (kKeeps) __builtin_memcpy(passed + row, &signs, sizeof signs);
  }
  for (; row < rows; ++row) {
    const PassedBits signs = one(row);
    if (kKeeps) passed[row] = signs;
  }
}

template <bool kRelu, Adds kAdds, bool kKeeps, class T>
void normalize_rows(const NormOperands<T>& of, Stores stores) {
  if (stores == Stores::kStreamed && is_in_lines(of)) {
    normalize_lines<kRelu, kAdds, kKeeps>(of);
    return finish_streams();
  }
  for_each_tile<T>(of.column, 0, of.column.rows, [&](auto access, const Tile& tile) {
    normalize_tile<decltype(access), kRelu, kAdds, kKeeps>(of, tile);
  });
}

template <Adds kAdds, class T>
void normalize_adding(const NormOperands<T>& of, bool relu, Stores stores) {
  if (!relu) return normalize_rows<false, kAdds, false>(of, stores);
  if (of.passed == nullptr) return normalize_rows<true, kAdds, false>(of, stores);
  normalize_rows<true, kAdds, true>(of, stores);
}

enum class Masks { kNothing, kBits, kGate };

/// Rows of a gradient in a tile, with the gate's factors loaded once.
template <class Access, bool kSecond, Masks kMasks, class T>
class GradientRows {
 public:
  GradientRows(const GradientSource<T>& gradient, const Tile& tile)
      : first_(gradient.first, tile),
        second_(kSecond ? gradient.second : gradient.first, tile),
        passed_(kMasks == Masks::kBits ? gradient.passed + tile.signs : nullptr) {
    if (kMasks != Masks::kGate) return;
    scale_ = Access::load(gradient.gate->scale + tile.channel(), tile.width);
    shift_ = Access::load(gradient.gate->shift + tile.channel(), tile.width);
  }
  /// The gradient of a row; x is the source minus its mean.
  Lanes at(std::int64_t row, const Lanes& x) const {
    Lanes value = first_(row);
    if (kSecond) value += second_(row);
    if (kMasks == Masks::kBits) value = masked(value, passed_[row]);
    if (kMasks == Masks::kGate) value = x * scale_ + shift_ > 0.0F ? value : zero();
    return value;
  }

 private:
  const TileRows<Access, T> first_, second_;
  const PassedBits* passed_;
  Lanes scale_ = zero(), shift_ = zero();
};

/// Operands of a batch norm's backward pass.
template <class T>
struct GradientOperands {
  const T* src;
  const GradientSource<T>& gradient;
  const Column& column;
  const float* mean;
};

/// Sums over rows of the value that the function returned by use(access, tile) gives for a row's
/// offset and gradient. Even and odd rows are summed separately, so that additions need not wait
/// for each other.
template <bool kSecond, Masks kMasks, class T, class Use>
void gradient_sums_rows(const GradientOperands<T>& of, double* sum, double* product,
                        const Use& use) {
  const Column& column = of.column;
  for (int channel = 0; channel < column.width; ++channel) sum[channel] = product[channel] = 0.0;
  PartSums piece;
  for_each_piece_of_rows(column.rows, [&](std::int64_t begin, std::int64_t end) {
    piece.clear(column);
    for_each_tile<T>(column, begin, end, [&](auto access, const Tile& tile) {
      using Access = decltype(access);
      const GradientRows<Access, kSecond, kMasks, T> rows(of.gradient, tile);
      const Lanes m = Access::load(of.mean + tile.channel(), tile.width);
      const auto used = use(access, tile);
      const TileRows<Access, T> src(of.src, tile);
      const std::int64_t stride = tile.stride;
      Lanes sums[2] = {zero(), zero()};
      Lanes products[2] = {zero(), zero()};
      const auto one = [&](std::int64_t row, Lanes& part, Lanes& product_part) {
        const std::int64_t at = row * stride;
        const Lanes x = src(row) - m;
        const Lanes g = used(at, rows.at(row, x));
        part += g;
        product_part += g * x;
      };
      std::int64_t row = 0;
      const std::int64_t rows_here = tile.rows;
      for (; row + 2 <= rows_here; row += 2) {
        one(row, sums[0], products[0]);
        one(row + 1, sums[1], products[1]);
      }
      if (row < rows_here) one(row, sums[0], products[0]);
      piece.first[tile.part] += sums[0] + sums[1];
      piece.second[tile.part] += products[0] + products[1];
    });
    for (int channel = 0; channel < column.width; channel += kLanes) {
      const int left = column.width - channel, width = left < kLanes ? left : kLanes;
      add_to(sum + channel, piece.first[channel / kLanes], width);
      add_to(product + channel, piece.second[channel / kLanes], width);
    }
  });
}

/// Calls `body.template run<kSecond, kMasks>()` for the operands of the gradient.
template <bool kSecond, class T, class Body>
void with_masks(const GradientSource<T>& gradient, const Body& body) {
  if (gradient.passed != nullptr) return body.template run<kSecond, Masks::kBits>();
  if (gradient.gate != nullptr) return body.template run<kSecond, Masks::kGate>();
  return body.template run<kSecond, Masks::kNothing>();
}
template <class T, class Body>
void with_case(const GradientSource<T>& gradient, const Body& body) {
  if (gradient.second != nullptr) return with_masks<true>(gradient, body);
  return with_masks<false>(gradient, body);
}

template <class T>
struct SumsBody {
  const GradientOperands<T>& of;
  T* kept;
  double* sum;
  double* product;
  template <bool kSecond, Masks kMasks>
  void run() const {
    const auto sums = [&](const auto& use) {
      gradient_sums_rows<kSecond, kMasks>(of, sum, product, use);
    };
    if (kept == nullptr) {
      return sums([](auto, const Tile&) { return [](std::int64_t, const Lanes& g) { return g; }; });
    }
    sums([&](auto access, const Tile& tile) {
      T* const to = kept + tile.begin;
      return [to, access, width = tile.width](std::int64_t at, const Lanes& g) {
        access.store(to + at, g, width);
        return as_stored(to, g);
      };
    });
  }
};

template <class T>
struct ApplyBody {
  const GradientOperands<T>& of;
  T* diff_src;
  const float *slope, *offset, *tilt;
  template <bool kSecond, Masks kMasks>
  void run() const {
    for_each_tile<T>(of.column, 0, of.column.rows, [&](auto access, const Tile& tile) {
      using Access = decltype(access);
      const int width = tile.width, channel = tile.channel();
      const GradientRows<Access, kSecond, kMasks, T> rows(of.gradient, tile);
      const Lanes m = Access::load(of.mean + channel, width);
      const Lanes a = Access::load(slope + channel, width);
      const Lanes b = Access::load(offset + channel, width);
      const Lanes c = Access::load(tilt + channel, width);
      const TileRows<Access, T> src(of.src, tile);
      T* to = diff_src + tile.begin;
      const std::int64_t stride = tile.stride, count = tile.rows;
      for (std::int64_t row = 0; row < count; ++row, to += stride) {
        const Lanes x = src(row) - m;
        const Lanes g = rows.at(row, x);
        Access::store(to, a * g - b - c * x, width);
      }
    });
  }
};

template <class T>
struct FrozenBody {
  const GradientOperands<T>& of;
  T* diff_src;
  T* diff_residual;
  const float* slope;
  double* sum;
  double* product;
  template <bool kSecond, Masks kMasks>
  void run() const {
    gradient_sums_rows<kSecond, kMasks>(of, sum, product, [&](auto access, const Tile& tile) {
      const Lanes a = access.load(slope + tile.channel(), tile.width);
      T* const to = diff_src + tile.begin;
      T* const beside = diff_residual == nullptr ? nullptr : diff_residual + tile.begin;
      return [to, beside, access, a, width = tile.width](std::int64_t at, const Lanes& g) {
        if (beside != nullptr) access.store(beside + at, g, width);
        access.store(to + at, a * g, width);
        return g;
      };
    });
  }
};

template <class T>
void normalize(const T* src, const Normalization& norm, const Residual<T>& residual, T* dst,
               PassedBits* passed, const Column& column, bool relu, Stores stores) {
  const NormOperands<T> operands = {src, norm, residual, dst, passed, column};
  if (residual.src == nullptr) return normalize_adding<Adds::kNothing>(operands, relu, stores);
  if (residual.norm == nullptr) return normalize_adding<Adds::kValue>(operands, relu, stores);
  normalize_adding<Adds::kNormalized>(operands, relu, stores);
}

template <class T>
void gradient_sums(const T* src, const GradientSource<T>& gradient, T* kept, const Column& column,
                   const float* mean, double* sum, double* product) {
  const GradientOperands<T> operands = {src, gradient, column, mean};
  with_case(gradient, SumsBody<T>{operands, kept, sum, product});
}

template <class T>
void gradient_apply(const T* src, const GradientSource<T>& gradient, T* diff_src,
                    const Column& column, const float* mean, const float* slope,
                    const float* offset, const float* tilt) {
  const GradientOperands<T> operands = {src, gradient, column, mean};
  with_case(gradient, ApplyBody<T>{operands, diff_src, slope, offset, tilt});
}

template <class T>
void gradient_frozen(const T* src, const GradientSource<T>& gradient, T* diff_src, T* diff_residual,
                     const Column& column, const float* mean, const float* slope, double* sum,
                     double* product) {
  const GradientOperands<T> operands = {src, gradient, column, mean};
  with_case(gradient, FrozenBody<T>{operands, diff_src, diff_residual, slope, sum, product});
}

}  // namespace
}  // namespace nn
