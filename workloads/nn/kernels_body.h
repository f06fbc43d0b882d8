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

/// Neighbouring rows of 16 of a column's channels, or of the fewer that are left.
struct Tile {
  std::int64_t rows = 0, stride = 0;
  std::int64_t begin = 0;  ///< of its numbers among the column's
  std::int64_t signs = 0;  ///< of its signs among the column's
  int part = 0, width = 0;
  /// Numbers from the tile's to those that are asked for with its first row, and with each further
  /// one: the next tiles in the order of memory, or rows that are as far ahead.
  std::int64_t ahead = 0, ahead_step = 0;
  int channel() const { return part * kLanes; }
};

/// Rows that all channels are gone over for before the next ones: as many for a channel in a column
/// of any width, and so its sums have the same bits. Where a row is more than 16 channels, what is
/// near in memory is near in time, and few lines are asked for at once.
template <class T>
std::int64_t tile_rows(const Column& column) {
  constexpr std::int64_t kFewRows = 4, kManyRows = 8;
  if (column.stride <= kLanes) return kFloatRows;
  const std::int64_t rows = kAheadBytes / static_cast<std::int64_t>(sizeof(T)) / column.stride;
  return rows < kFewRows ? kFewRows : rows < kManyRows ? rows : kManyRows;
}

/// Calls use(access, tile) for tiles that together are rows [begin, end). Whole: access to 16
/// channels.
template <class T, class Whole = Full, class Use>
void for_each_tile(const Column& column, std::int64_t begin, std::int64_t end, const Use& use) {
  constexpr std::int64_t kAhead = kAheadBytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t together = tile_rows<T>(column), next = together * column.stride;
  const bool is_narrow = column.stride <= kLanes, is_whole = column.width == column.stride;
  for (std::int64_t row = begin; row < end; row += together) {
    Tile tile;
    tile.rows = end - row < together ? end - row : together;
    tile.stride = column.stride;
    tile.begin = row * column.stride;
    tile.signs = row;
    tile.width = kLanes;
    tile.ahead = is_narrow ? kAhead : next;
    tile.ahead_step = is_whole && !is_narrow ? kLanes : column.stride;
    for (; tile.channel() + kLanes <= column.width; ++tile.part) {
      use(Whole(), tile);
      tile.begin += kLanes;
      tile.signs += column.rows;
      if (is_whole) tile.ahead += (together - 1) * kLanes;
    }
    tile.width = column.width - tile.channel();
    if (tile.width > 0) use(Partial(), tile);
  }
}

/// A value's rows in a tile, on a long way through memory: of several values at once, and beyond a
/// page's end, processors foresee too little by themselves.
template <class Access, class T>
class TileRows {
 public:
  TileRows(const T* column, const Tile& tile)
      : first_(column + tile.begin),
        asked_(first_ + tile.ahead),
        stride_(tile.stride),
        ahead_step_(tile.ahead_step),
        width_(tile.width) {}
  Lanes operator()(std::int64_t row) const {
    __builtin_prefetch(asked_ + row * ahead_step_);
    return Access::load(first_ + row * stride_, width_);
  }

 private:
  const T* first_;
  const T* asked_;
  const std::int64_t stride_, ahead_step_;
  const int width_;
};

/// Calls use(begin, end) for pieces of rows that are short enough for sums in float.
template <class Use>
void for_each_piece_of_rows(std::int64_t rows, const Use& use) {
  for (std::int64_t begin = 0; begin < rows; begin += kFloatRows) {
    use(begin, begin + kFloatRows < rows ? begin + kFloatRows : rows);
  }
}

/// Sums of a piece of rows, for each 16 channels of a column.
struct PartSums {
  static constexpr int kMostParts = Column::kMostChannels / kLanes;
  Lanes first[kMostParts], second[kMostParts];
  void clear(const Column& column) {
    for (int part = 0; part * kLanes < column.width; ++part) first[part] = second[part] = zero();
  }
};

/// Sums of distances from `centre`, and of their squares.
struct Distances {
  Lanes sum = zero(), squares = zero();
};
template <class Access, class T>
Distances distances_of(const T* src, const Tile& tile, const Lanes& centre) {
  Lanes sums[4] = {zero(), zero(), zero(), zero()};
  Lanes squares[4] = {zero(), zero(), zero(), zero()};
  const TileRows<Access, T> rows(src, tile);
  const auto one = [&](std::int64_t row, int part) {
    const Lanes distance = rows(row) - centre;
    sums[part] += distance;
    squares[part] += distance * distance;
  };
  std::int64_t row = 0;
  for (; row + 4 <= tile.rows; row += 4) {
    for (int part = 0; part < 4; ++part) one(row + part, part);
  }
  for (; row < tile.rows; ++row) one(row, 0);
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]),
          (squares[0] + squares[1]) + (squares[2] + squares[3])};
}

/// Of rows [begin, end).
template <class T>
void sum_distances(const T* src, const Column& column, std::int64_t begin, std::int64_t end,
                   const Lanes* centres, PartSums& sums) {
  sums.clear(column);
  for_each_tile<T>(column, begin, end, [&](auto access, const Tile& tile) {
    const Distances distances = distances_of<decltype(access)>(src, tile, centres[tile.part]);
    sums.first[tile.part] += distances.sum;
    sums.second[tile.part] += distances.squares;
  });
}

/// The moments of 16 channels, while pieces of rows are joined.
struct JoinedMoments {
  double mean[kLanes], squares[kLanes];

  Lanes centre() const {
    Lanes centre = zero();
    for (int lane = 0; lane < kLanes; ++lane) centre[lane] = static_cast<float>(mean[lane]);
    return centre;
  }
  void begin(const Lanes& sum, double rows) {
    for (int lane = 0; lane < kLanes; ++lane) {
      mean[lane] = static_cast<double>(sum[lane]) / rows;
      squares[lane] = 0.0;
    }
  }
  /// As Chan, Golub and LeVeque do, `here` rows to `before`.
  void join(const Distances& piece, double before, double here) {
    const Lanes from = centre();
    const double share = here / (before + here), per_row = 1.0 / here;
    for (int lane = 0; lane < kLanes; ++lane) {
      const double distance = static_cast<double>(piece.sum[lane]) * per_row;
      const double own = static_cast<double>(piece.squares[lane]) - distance * distance * here;
      const double apart = static_cast<double>(from[lane]) + distance - mean[lane];
      squares[lane] += own + apart * apart * before * share;
      mean[lane] += apart * share;
    }
  }
};

/// Each piece's distances are from the mean of those before it, and the first one's from its own:
/// their squares are at most twice those from the mean of all, so that none are lost in the
/// difference.
template <class T>
void moments(const T* src, const Column& column, double* mean, double* squares) {
  constexpr int kMostParts = PartSums::kMostParts;
  PartSums piece;
  JoinedMoments joined[kMostParts];
  Lanes centres[kMostParts];
  const int parts = (column.width + kLanes - 1) / kLanes;
  for (int part = 0; part < parts; ++part) centres[part] = zero();
  for_each_piece_of_rows(column.rows, [&](std::int64_t begin, std::int64_t end) {
    const auto before = static_cast<double>(begin), here = static_cast<double>(end - begin);
    if (begin == 0) {
      sum_distances(src, column, begin, end, centres, piece);
      for (int part = 0; part < parts; ++part) {
        joined[part].begin(piece.first[part], here);
        centres[part] = joined[part].centre();
      }
    }
    sum_distances(src, column, begin, end, centres, piece);
    for (int part = 0; part < parts; ++part) {
      joined[part].join({piece.first[part], piece.second[part]}, before, here);
      centres[part] = joined[part].centre();
    }
  });
  for (int channel = 0; channel < column.width; ++channel) {
    const JoinedMoments& of = joined[channel / kLanes];
    const double sum = of.squares[channel % kLanes];
    mean[channel] = of.mean[channel % kLanes];
    squares[channel] = sum < 0.0 ? 0.0 : sum;
  }
}

enum class Adds { kNothing, kValue, kNormalized };

/// What a batch norm's forward pass reads and writes.
template <class T>
struct NormOperands {
  const T* src;
  const Normalization& norm;
  const Residual<T>& residual;
  T* dst;
  PassedBits* passed;
  const Column& column;
};

/// kKeeps: the signs go to `passed`.
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
  // The signs of four rows are one store: with one for each, stores would set the pace.
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

template <class Whole, bool kRelu, Adds kAdds, bool kKeeps, class T>
void normalize_rows(const NormOperands<T>& of) {
  for_each_tile<T, Whole>(of.column, 0, of.column.rows, [&](auto access, const Tile& tile) {
    normalize_tile<decltype(access), kRelu, kAdds, kKeeps>(of, tile);
  });
}

template <class Whole, Adds kAdds, class T>
void normalize_adding(const NormOperands<T>& of, bool relu) {
  if (!relu) return normalize_rows<Whole, false, kAdds, false>(of);
  if (of.passed == nullptr) return normalize_rows<Whole, true, kAdds, false>(of);
  normalize_rows<Whole, true, kAdds, true>(of);
}

template <class Whole, class T>
void normalize_with(const NormOperands<T>& of, bool relu) {
  if (of.residual.src == nullptr) return normalize_adding<Whole, Adds::kNothing>(of, relu);
  if (of.residual.norm == nullptr) return normalize_adding<Whole, Adds::kValue>(of, relu);
  normalize_adding<Whole, Adds::kNormalized>(of, relu);
}

enum class Masks { kNothing, kBits, kGate };

/// A gradient's rows within a tile, its factors loaded once.
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
  /// Of a row where the source is x above its mean.
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

/// What a batch norm's backward pass reads.
template <class T>
struct GradientOperands {
  const T* src;
  const GradientSource<T>& gradient;
  const Column& column;
  const float* mean;
};

/// Sums of what `use(access, tile)` makes of each row's place and gradient. Even and odd rows have
/// sums of their own, so that additions need not wait for each other.
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

/// Calls `body.template run<kSecond, kMasks>()` for the case at hand.
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
  if (stores == Stores::kCached || !can_stream(dst, column)) {
    return normalize_with<Full>(operands, relu);
  }
  normalize_with<Streamed>(operands, relu);
  finish_streams();
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

template <class T>
void row_mean(const T* src, const Column& column, float* dst) {
  double sums[Column::kMostChannels];
  for (int channel = 0; channel < column.width; ++channel) sums[channel] = 0.0;
  PartSums piece;
  Lanes centres[PartSums::kMostParts];
  for (int part = 0; part * kLanes < column.width; ++part) centres[part] = zero();
  for_each_piece_of_rows(column.rows, [&](std::int64_t begin, std::int64_t end) {
    sum_distances(src, column, begin, end, centres, piece);
    for (int channel = 0; channel < column.width; ++channel) {
      sums[channel] += static_cast<double>(piece.first[channel / kLanes][channel % kLanes]);
    }
  });
  for (int channel = 0; channel < column.width; ++channel) {
    dst[channel] = static_cast<float>(sums[channel] / static_cast<double>(column.rows));
  }
}

template <class T>
void fill_rows(T* dst, const Column& column, const float* value) {
  for_each_tile<T>(column, 0, column.rows, [&](auto access, const Tile& tile) {
    const Lanes lanes = access.load(value + tile.channel(), tile.width);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      T* const to = dst + tile.begin + row * tile.stride;
      store_on_way<decltype(access)>(to, lanes, tile.width);
    }
  });
}

}  // namespace
}  // namespace nn
