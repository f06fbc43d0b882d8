// Fourier transforms of a cube of complex numbers.
#include "workloads/cosmoflow/fourier.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "runner/base/error.h"

namespace cosmoflow {
namespace {

constexpr std::size_t kSide = 8;

/// Transposes a square of kSide x kSide elements; rows are `stride` elements apart.
void transpose_square(const float* from, float* to, std::size_t stride) {
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t column = 0; column < kSide; ++column) {
      to[column * stride + row] = from[row * stride + column];
    }
  }
}

std::size_t checked(std::int64_t cells) {
  if (cells >= Fourier::kLeastCells && cells <= Fourier::kMostCells &&
      std::has_single_bit(static_cast<std::uint64_t>(cells))) {
    return static_cast<std::size_t>(cells);
  }
  throw base::Error(base::ExitCode::kInternal,
                    fmt::format("Fourier: cells must be a power of 2 from {} to {}, got {}",
                                Fourier::kLeastCells, Fourier::kMostCells, cells));
}

}  // namespace

ComplexCube::ComplexCube(std::int64_t cells)
    : re(static_cast<std::size_t>(cells * cells * cells)), im(re.size()) {}

Fourier::Fourier(std::int64_t cells)
    : cells_(checked(cells)),
      lanes_(std::min<std::size_t>(cells_, 16)),  // 16 floats: one cache line
      lines_(cells, lanes_),
      plane_re_(cells_ * cells_),
      plane_im_(cells_ * cells_) {}

void Fourier::forward(ComplexCube& cube) { transform(cube.re.data(), cube.im.data()); }

/// Exchanging the real and imaginary parts replaces i by -i.
void Fourier::inverse(ComplexCube& cube) { transform(cube.im.data(), cube.re.data()); }

void Fourier::transform(float* re, float* im) {
  const std::size_t plane = cells_ * cells_;
  for (std::size_t at = 0; at < cells_ * plane; at += plane) {
    transpose(re + at, plane_re_.data());
    transpose(im + at, plane_im_.data());
    for (std::size_t lane = 0; lane < cells_; lane += lanes_) {
      lines_.transform({plane_re_.data() + lane, plane_im_.data() + lane, cells_});
    }
    transpose(plane_re_.data(), re + at);
    transpose(plane_im_.data(), im + at);
    for (std::size_t lane = 0; lane < cells_; lane += lanes_) {
      lines_.transform({re + at + lane, im + at + lane, cells_});
    }
  }
  for (std::size_t lane = 0; lane < plane; lane += lanes_) {
    lines_.transform({re + lane, im + lane, plane});
  }
}

/// Transposes a plane in squares that fit the L1 cache.
void Fourier::transpose(const float* from, float* to) const {
  for (std::size_t row = 0; row < cells_; row += kSide) {
    for (std::size_t column = 0; column < cells_; column += kSide) {
      transpose_square(from + row * cells_ + column, to + column * cells_ + row, cells_);
    }
  }
}

}  // namespace cosmoflow
