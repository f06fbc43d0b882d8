// Random weather fields.
#include "workloads/deepcam/climate_fields.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runner/base/hash_chain.h"
#include "workloads/deepcam/squared.h"

namespace deepcam {
namespace {

constexpr std::size_t kRows = ClimateFields::kStep;

/// The signed frequency, from -(count - 1) / 2 to count / 2.
std::int64_t frequency(std::size_t index, std::size_t count) {
  const auto at = static_cast<std::int64_t>(index), all = static_cast<std::int64_t>(count);
  return at <= all / 2 ? at : at - all;
}

double amplitude(std::int64_t down, std::int64_t along) {
  return 1.0 / (static_cast<double>(down * down + along * along) + 4.0);
}

}  // namespace

ClimateFields::ClimateFields(std::int64_t height, std::int64_t width)
    : height_(static_cast<std::size_t>(height)),
      width_(static_cast<std::size_t>(width)),
      down_(height, kRows),
      along_(width, kRows),
      sizes_(height_ * width_),
      transposed_re_(width_ * kRows),
      transposed_im_(width_ * kRows) {
  double power = 0.0, down_slope = 0.0, along_slope = 0.0;
  const auto turn = [](std::int64_t of, std::size_t count) {
    return 2.0 * std::numbers::pi * static_cast<double>(of) / static_cast<double>(count);
  };
  for (std::size_t i = 0; i < height_; ++i) {
    for (std::size_t j = 0; j < width_; ++j) {
      const std::int64_t down = frequency(i, height_), along = frequency(j, width_);
      const double of_wave = squared(amplitude(down, along));
      power += of_wave;
      down_slope += of_wave * squared(std::sin(turn(down, height_)));
      along_slope += of_wave * squared(std::sin(turn(along, width_)));
      sizes_[i * width_ + j] = static_cast<float>(amplitude(down, along));
    }
  }
  for (float& size : sizes_) size /= static_cast<float>(std::sqrt(power));
  slopes_ = {std::sqrt(down_slope / power), std::sqrt(along_slope / power)};
}

std::int64_t ClimateFields::scratch_bytes(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kScratchRows = 6 * kStep;
  return static_cast<std::int64_t>(sizeof(float)) *
         (height * width + kScratchRows * (height + width));
}

/// Each wave of the complex field gets a complex amplitude of two independent normal numbers, so
/// the real and imaginary parts are independent fields.
void ClimateFields::draw(std::uint64_t stream, Plane& first, Plane& second) {
  first.resize(height_ * width_);
  second.resize(height_ * width_);
  const std::uint64_t begun = base::chain({stream});
  for (std::size_t i = 0; i < height_; ++i) {
    const auto down = static_cast<std::uint64_t>(frequency(i, height_));
    const std::uint64_t row = base::chain({down}, begun);
    for (std::size_t j = 0; j < width_; ++j) {
      const std::size_t at = i * width_ + j;
      const auto along = static_cast<std::uint64_t>(frequency(j, width_));
      const std::uint64_t wave = base::chain({along}, row);
      const double share = std::max(base::uniform_of(base::chain({1}, wave)), 0x1p-53);
      const auto angle =
          static_cast<float>(2.0 * std::numbers::pi * base::uniform_of(base::chain({2}, wave)));
      const float size = sizes_[at] * std::sqrt(-2.0F * std::log(static_cast<float>(share)));
      first[at] = size * std::cos(angle);
      second[at] = size * std::sin(angle);
    }
  }
  transform(first, second);
}

void ClimateFields::transform(Plane& re, Plane& im) {
  for (std::size_t lane = 0; lane < width_; lane += kRows) {
    down_.transform({re.data() + lane, im.data() + lane, width_});
  }
  for (std::size_t row = 0; row < height_; row += kRows) {
    transform_rows(re.data() + row * width_, im.data() + row * width_);
  }
}

/// Transforms kRows rows, transposed so that their elements are adjacent.
void ClimateFields::transform_rows(float* re, float* im) {
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t j = 0; j < width_; ++j) {
      transposed_re_[j * kRows + row] = re[row * width_ + j];
      transposed_im_[j * kRows + row] = im[row * width_ + j];
    }
  }
  along_.transform({transposed_re_.data(), transposed_im_.data(), kRows});
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t j = 0; j < width_; ++j) {
      re[row * width_ + j] = transposed_re_[j * kRows + row];
      im[row * width_ + j] = transposed_im_[j * kRows + row];
    }
  }
}

}  // namespace deepcam
