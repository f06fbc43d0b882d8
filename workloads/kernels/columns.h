// Loops over columns of channels in tiles of few rows, and their sums: moments, means. Follows the
// rules of lanes.h.
#pragma once

#include "workloads/kernels/lanes.h"

namespace nn {
namespace {

/// Rows summed in float before the sum continues in double: few enough that a batch norm's
/// gradients are as exact as their operands, many enough that the loop stays memory-bound.
constexpr std::int64_t kFloatRows = 32;

inline void add_to(double* sums, const Lanes& value, int width) {
  for (int lane = 0; lane < width; ++lane) sums[lane] += static_cast<double>(value[lane]);
}

/// Adjacent rows of 16 channels of a column, or of the fewer channels that are left.
struct Tile {
  std::int64_t rows = 0, stride = 0;
  std::int64_t begin = 0;  ///< offset of its first element in the column
  std::int64_t signs = 0;  ///< offset of its first element in the PassedBits
  int part = 0, width = 0;
  /// Prefetch distance in elements for the tile's first row, and its increment for each further
  /// row. Prefetched are the next tiles in memory order, or rows equally far ahead.
  std::int64_t ahead = 0, ahead_step = 0;
  int channel() const { return part * kLanes; }
};

/// Rows of a tile: all channels of these rows are processed before the next rows. The count does
/// not depend on the column's width, so a channel's sums have the same bits in any column. Where a
/// row has more than 16 channels, tiles of few rows keep accesses close in memory close in time,
/// and prefetch few lines at once.
template <class T>
std::int64_t tile_rows(const Column& column) {
  constexpr std::int64_t kFewRows = 4, kManyRows = 8;
  if (column.stride <= kLanes) return kFloatRows;
  const std::int64_t rows = kAheadBytes / static_cast<std::int64_t>(sizeof(T)) / column.stride;
  return rows < kFewRows ? kFewRows : rows < kManyRows ? rows : kManyRows;
}

/// Calls use(access, tile) for tiles that together cover rows [begin, end).
template <class T, class Use>
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
      use(Full(), tile);
      tile.begin += kLanes;
      tile.signs += column.rows;
      if (is_whole) tile.ahead += (together - 1) * kLanes;
    }
    tile.width = column.width - tile.channel();
    if (tile.width > 0) use(Partial(), tile);
  }
}

/// An operand's rows in a tile, with prefetching: hardware prefetchers do too little for several
/// streams at once and beyond the end of a page.
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

/// Calls use(begin, end) for runs of at most kFloatRows rows, short enough for sums in float.
template <class Use>
void for_each_piece_of_rows(std::int64_t rows, const Use& use) {
  for (std::int64_t begin = 0; begin < rows; begin += kFloatRows) {
    use(begin, begin + kFloatRows < rows ? begin + kFloatRows : rows);
  }
}

/// Sums over a run of rows, one vector for each 16 channels of a column.
struct PartSums {
  static constexpr int kMostParts = Column::kMostChannels / kLanes;
  Lanes first[kMostParts], second[kMostParts];
  void clear(const Column& column) {
    for (int part = 0; part * kLanes < column.width; ++part) first[part] = second[part] = zero();
  }
};

/// Sums of deviations from `centre`, and of their squares.
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

/// Sums the deviations of rows [begin, end) from `centres`.
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

/// Moments of 16 channels, accumulated run by run.
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
  /// Adds a run of `here` rows to the `before` rows so far. Source: Chan, Golub and LeVeque.
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

/// Deviations of a run are from the mean of the runs before it; those of the first run are from its
/// own mean.
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
