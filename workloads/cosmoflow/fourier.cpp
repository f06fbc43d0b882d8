// Fourier transforms of a cube of complex numbers.
// Hides the order of the butterflies and that many lines are transformed at once.
#include "workloads/cosmoflow/fourier.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "runner/base/error.h"

namespace cosmoflow {
namespace {

/// What every x86-64 and every 64-bit ARM works on at once. Numbers of different lanes never meet,
/// so that wider vectors would give the same bits.
using Lanes = float __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;

struct Complex {
  Lanes re, im;
};

Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
Complex times_i(const Complex& a) { return {-a.im, a.re}; }

template <class Factor>
Complex operator*(const Complex& a, const Factor& factor) {
  return {a.re * factor.re - a.im * factor.im, a.re * factor.im + a.im * factor.re};
}

template <class Rows>
Complex load(const Rows& rows, std::size_t row, std::size_t lane) {
  Complex value;
  std::memcpy(&value.re, rows.re + row * rows.stride + lane, sizeof value.re);
  std::memcpy(&value.im, rows.im + row * rows.stride + lane, sizeof value.im);
  return value;
}

template <class Rows>
void store(const Complex& value, const Rows& rows, std::size_t row, std::size_t lane) {
  std::memcpy(rows.re + row * rows.stride + lane, &value.re, sizeof value.re);
  std::memcpy(rows.im + row * rows.stride + lane, &value.im, sizeof value.im);
}

constexpr std::size_t kSide = 8;

/// kSide rows of kSide numbers, `stride` apart.
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
      lanes_(std::min<std::size_t>(cells_, 16)),  // a cache line
      plane_re_(cells_ * cells_),
      plane_im_(cells_ * cells_) {
  for (std::size_t j = 0; j < cells_; ++j) {
    const double angle =
        -2.0 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(cells_);
    factors_.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  for (auto& rows : rows_) rows.resize(cells_ * lanes_);
}

void Fourier::forward(ComplexCube& cube) { transform(cube.re.data(), cube.im.data()); }

/// With the parts exchanged, i is -i.
void Fourier::inverse(ComplexCube& cube) { transform(cube.im.data(), cube.re.data()); }

void Fourier::transform(float* re, float* im) {
  const std::size_t plane = cells_ * cells_;
  for (std::size_t at = 0; at < cells_ * plane; at += plane) {
    transpose(re + at, plane_re_.data());
    transpose(im + at, plane_im_.data());
    for (std::size_t lane = 0; lane < cells_; lane += lanes_) {
      transform_rows({plane_re_.data() + lane, plane_im_.data() + lane, cells_});
    }
    transpose(plane_re_.data(), re + at);
    transpose(plane_im_.data(), im + at);
    for (std::size_t lane = 0; lane < cells_; lane += lanes_) {
      transform_rows({re + at + lane, im + at + lane, cells_});
    }
  }
  for (std::size_t lane = 0; lane < plane; lane += lanes_) {
    transform_rows({re + lane, im + lane, plane});
  }
}

/// Stockham's form of decimation in frequency: what a pass writes is in order, so that nothing has
/// to be sorted. From pass to pass `step` sub-transforms lie side by side.
/// Source: Van Loan, "Computational frameworks for the fast Fourier transform", 1992, section 1.7.
void Fourier::transform_rows(const Rows& rows) {
  const Rows scratch[2] = {{rows_[0].data(), rows_[1].data(), lanes_},
                           {rows_[2].data(), rows_[3].data(), lanes_}};
  const Rows* from = &rows;
  int into = 0;
  for (std::size_t step = 1; step < cells_;) {
    const bool by_four = cells_ / step % 4 == 0;
    const std::size_t next = step * (by_four ? 4 : 2);
    const Rows* to = next == cells_ ? &rows : &scratch[into];
    by_four ? quarter(*from, *to, step) : halve(*from, *to, step);
    from = to;
    into = 1 - into;
    step = next;
  }
}

void Fourier::quarter(const Rows& from, const Rows& to, std::size_t step) const {
  const std::size_t apart = cells_ / 4;  // rows between the four that meet
  for (std::size_t row = 0; row < apart; row += step) {
    const Factor once = factors_[row], twice = factors_[2 * row], thrice = factors_[3 * row];
    for (std::size_t q = 0; q < step; ++q) {
      for (std::size_t lane = 0; lane < lanes_; lane += kLanes) {
        const Complex a = load(from, row + q, lane), b = load(from, row + q + apart, lane);
        const Complex c = load(from, row + q + 2 * apart, lane);
        const Complex d = load(from, row + q + 3 * apart, lane);
        const Complex even = a + c, odd = b + d, difference = a - c, turned = times_i(b - d);
        const std::size_t out = 4 * row + q;
        store(even + odd, to, out, lane);
        store((difference - turned) * once, to, out + step, lane);
        store((even - odd) * twice, to, out + 2 * step, lane);
        store((difference + turned) * thrice, to, out + 3 * step, lane);
      }
    }
  }
}

/// The last pass, if any: its only factor is 1.
void Fourier::halve(const Rows& from, const Rows& to, std::size_t step) const {
  for (std::size_t q = 0; q < step; ++q) {
    for (std::size_t lane = 0; lane < lanes_; lane += kLanes) {
      const Complex a = load(from, q, lane), b = load(from, q + step, lane);
      store(a + b, to, q, lane);
      store(a - b, to, q + step, lane);
    }
  }
}

/// Of a plane, in squares that stay in the nearest cache.
void Fourier::transpose(const float* from, float* to) const {
  for (std::size_t row = 0; row < cells_; row += kSide) {
    for (std::size_t column = 0; column < cells_; column += kSide) {
      transpose_square(from + row * cells_ + column, to + column * cells_ + row, cells_);
    }
  }
}

}  // namespace cosmoflow
