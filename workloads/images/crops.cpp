// The region of an image that a transform uses, by the references' sampling rules.
#include "workloads/images/crops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace images {
namespace {

/// A random integer in [0, count); 0 without drawing if count <= 1.
int below(int count, base::RandomStream& random) {
  return count <= 1 ? 0 : static_cast<int>(random.below(static_cast<std::uint64_t>(count)));
}

/// Rounds half to even, as lrintf and Python's round() do.
int nearest(double value) { return static_cast<int>(std::lrint(value)); }

struct AreaLimits {
  double low, high;
};

/// The height of the tallest crop of this aspect ratio and at most this area that fits.
int largest_height(int height, int width, double aspect, double area) {
  int largest = nearest(std::sqrt(area / aspect));
  if (nearest(largest * aspect) > width) {
    largest = static_cast<int>((width + 0.5) / aspect);
    if (nearest(largest * aspect) > width) --largest;
  }
  return std::min(largest, height);
}

std::optional<Region> try_distorted_crop(int height, int width, double aspect,
                                         const AreaLimits& area, base::RandomStream& random) {
  const int tallest = largest_height(height, width, aspect, area.high);
  Region crop;
  crop.height = std::min(nearest(std::sqrt(area.low / aspect)), tallest);
  crop.height += below(tallest - crop.height + 1, random);
  const auto area_now = [&] { return static_cast<double>(crop.height) * crop.width; };
  const auto change_height = [&](int change) {
    crop.height += change;
    crop.width = nearest(crop.height * aspect);
  };
  change_height(0);
  if (area_now() < area.low) change_height(1);
  if (area_now() > area.high) change_height(-1);
  if (area_now() < area.low || area_now() > area.high || crop.height > height ||
      crop.width > width || crop.height < 1 || crop.width < 1) {
    return std::nullopt;
  }
  // TensorFlow's implementation never draws the last offset; neither does this one.
  crop.top = below(height - crop.height, random);
  crop.left = below(width - crop.width, random);
  return crop;
}

}  // namespace

Region distorted_crop(int height, int width, base::RandomStream& random) {
  constexpr int kAttempts = 100;
  constexpr double kLeastAspect = 0.75, kMostAspect = 1.33, kLeastArea = 0.05, kLeastCovered = 0.1;
  const double pixels = static_cast<double>(height) * width;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double aspect = random.uniform(kLeastAspect, kMostAspect);
    const auto crop =
        try_distorted_crop(height, width, aspect, {kLeastArea * pixels, pixels}, random);
    if (crop && static_cast<double>(crop->height) * crop->width >= kLeastCovered * pixels) {
      return *crop;
    }
  }
  return {0, 0, height, width};
}

Region random_resized_crop(int height, int width, base::RandomStream& random) {
  constexpr int kAttempts = 10;
  constexpr double kLeastArea = 0.08, kLeastRatio = 3.0 / 4.0, kMostRatio = 4.0 / 3.0;
  const double pixels = static_cast<double>(height) * width;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double area = pixels * random.uniform(kLeastArea, 1.0);
    const double ratio = std::exp(random.uniform(std::log(kLeastRatio), std::log(kMostRatio)));
    const int w = nearest(std::sqrt(area * ratio)), h = nearest(std::sqrt(area / ratio));
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const int top = below(height - h + 1, random);
    return {top, below(width - w + 1, random), h, w};
  }
  const double ratio = static_cast<double>(width) / height;
  Region crop{0, 0, height, width};
  if (ratio < kLeastRatio) crop.height = std::min(nearest(width / kLeastRatio), height);
  if (ratio > kMostRatio) crop.width = std::min(nearest(height * kMostRatio), width);
  crop.top = (height - crop.height) / 2;
  crop.left = (width - crop.width) / 2;
  return crop;
}

Target central_target_mlperf(int height, int width, int shorter, int window) {
  const float ratio = static_cast<float>(shorter) / static_cast<float>(std::min(height, width));
  const auto side = [&](int length) {
    return std::max(static_cast<int>(static_cast<float>(length) * ratio), window);
  };
  Target target{side(height), side(width), 0, 0, window};
  target.top = (target.height - window) / 2;
  target.left = (target.width - window) / 2;
  return target;
}

Target central_target_torchvision(int height, int width, int shorter, int window) {
  const std::int64_t least = std::min(height, width);
  const auto side = [&](std::int64_t length) { return static_cast<int>(shorter * length / least); };
  Target target{side(height), side(width), 0, 0, window};
  target.top = nearest((target.height - window) / 2.0);
  target.left = nearest((target.width - window) / 2.0);
  return target;
}

}  // namespace images
