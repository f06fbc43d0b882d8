// One-dimensional Fourier transforms of many lines of complex numbers at once.
#include "workloads/synthetic/fourier_lines.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

#include "runner/base/error.h"

namespace synthetic {
namespace {

/// Vectors of 16 bytes, which every x86-64 and every 64-bit ARM CPU has. Values of different lanes
/// are never combined, so wider vectors would give the same bits.
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

Complex load(const LineRows& rows, std::size_t row, std::size_t lane) {
  Complex value;
  std::memcpy(&value.re, rows.re + row * rows.stride + lane, sizeof value.re);
  std::memcpy(&value.im, rows.im + row * rows.stride + lane, sizeof value.im);
  return value;
}

void store(const Complex& value, const LineRows& rows, std::size_t row, std::size_t lane) {
  std::memcpy(rows.re + row * rows.stride + lane, &value.re, sizeof value.re);
  std::memcpy(rows.im + row * rows.stride + lane, &value.im, sizeof value.im);
}

/// Element `i` of the transform of `values`. `factors` are those of a line whose length is a
/// multiple of the number of values.
template <class Factor>
Complex sum_of(std::span<const Complex> values, const std::vector<Factor>& factors, std::size_t i) {
  const std::size_t apart = factors.size() / values.size();
  Complex sum = values[0];
  for (std::size_t j = 1; j < values.size(); ++j) {
    sum = sum + values[j] * factors[i * j % values.size() * apart];
  }
  return sum;
}

/// Odd primes first, so that a pass by two, if present, is the last. Empty for unsupported lengths.
std::vector<std::size_t> radices_of(std::int64_t elements) {
  std::vector<std::size_t> radices;
  if (elements < 1 || elements > FourierLines::kMostElements) return radices;
  auto rest = static_cast<std::size_t>(elements);
  for (std::size_t prime = 3; prime <= rest && prime <= FourierLines::kMostFactor; prime += 2) {
    for (; rest % prime == 0; rest /= prime) radices.push_back(prime);
  }
  for (; rest % 4 == 0; rest /= 4) radices.push_back(4);
  if (rest % 2 == 0) radices.push_back(2);
  if (rest > 2) radices.clear();
  return radices;
}

}  // namespace

FourierLines::FourierLines(std::int64_t elements, std::size_t lanes)
    : elements_(static_cast<std::size_t>(elements)), lanes_(lanes), radices_(radices_of(elements)) {
  if (radices_.empty() || lanes == 0 || lanes % kLanes != 0) {
    throw base::Error(
        base::ExitCode::kInternal,
        fmt::format("FourierLines: expected 2 to {} elements without prime factors above {}, and "
                    "lanes in fours, got {} and {}",
                    kMostElements, kMostFactor, elements, lanes));
  }
  for (std::size_t j = 0; j < elements_; ++j) {
    const double angle =
        -2.0 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(elements_);
    factors_.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  for (auto& rows : rows_) rows.resize(elements_ * lanes_);
}

/// Stockham's form of decimation in frequency: each pass writes its results in order, so no bit
/// reversal is needed. `step` is the number of interleaved sub-transforms of a pass.
/// Source: Van Loan, "Computational frameworks for the fast Fourier transform", 1992, section 1.7.
void FourierLines::transform(const LineRows& rows) {
  const LineRows scratch[2] = {{rows_[0].data(), rows_[1].data(), lanes_},
                               {rows_[2].data(), rows_[3].data(), lanes_}};
  const LineRows* from = &rows;
  int into = 0;
  std::size_t step = 1;
  for (const std::size_t radix : radices_) {
    const bool is_last = step * radix == elements_ && from != &rows;
    const LineRows* to = is_last ? &rows : &scratch[into];
    pass(radix, *from, *to, step);
    from = to;
    into = 1 - into;
    step *= radix;
  }
  if (from == &rows) return;
  for (std::size_t row = 0; row < elements_; ++row) {  // after a single pass
    for (std::size_t lane = 0; lane < lanes_; lane += kLanes) {
      store(load(*from, row, lane), rows, row, lane);
    }
  }
}

void FourierLines::pass(std::size_t radix, const LineRows& from, const LineRows& to,
                        std::size_t step) const {
  if (radix == 4) {
    quarter(from, to, step);
  } else if (radix == 2) {
    halve(from, to, step);
  } else {
    any(radix, from, to, step);
  }
}

void FourierLines::any(std::size_t radix, const LineRows& from, const LineRows& to,
                       std::size_t step) const {
  for (std::size_t row = 0; row < elements_ / radix; row += step) {
    for (std::size_t q = 0; q < step; ++q) any_rows(radix, from, to, {row, q, step});
  }
}

/// A butterfly of any radix, as plain sums.
void FourierLines::any_rows(std::size_t radix, const LineRows& from, const LineRows& to,
                            const Meeting& at) const {
  const std::size_t apart = elements_ / radix;
  std::array<Complex, kMostFactor> met;
  for (std::size_t lane = 0; lane < lanes_; lane += kLanes) {
    for (std::size_t j = 0; j < radix; ++j) met[j] = load(from, at.row + at.q + j * apart, lane);
    for (std::size_t i = 0; i < radix; ++i) {
      const Complex sum = sum_of(std::span(met).first(radix), factors_, i);
      store(sum * factors_[at.row * i], to, radix * at.row + at.q + i * at.step, lane);
    }
  }
}

void FourierLines::quarter(const LineRows& from, const LineRows& to, std::size_t step) const {
  const std::size_t apart = elements_ / 4;  // rows between the four of a butterfly
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

/// The last pass, if present: its only factor is 1.
void FourierLines::halve(const LineRows& from, const LineRows& to, std::size_t step) const {
  for (std::size_t q = 0; q < step; ++q) {
    for (std::size_t lane = 0; lane < lanes_; lane += kLanes) {
      const Complex a = load(from, q, lane), b = load(from, q + step, lane);
      store(a + b, to, q, lane);
      store(a - b, to, q + step, lane);
    }
  }
}

}  // namespace synthetic
