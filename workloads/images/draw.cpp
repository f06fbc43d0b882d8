// Pictures of a known class that a convolutional network can learn and a linear classifier cannot.
#include "workloads/images/draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "runner/base/error.h"

namespace images {
namespace {

constexpr int kPlanes = 3;

/// In the order in which more classes introduce them.
enum class Shape { kSpot, kBar, kRing, kCross, kFrame };

struct Mark {
  Shape shape;
  bool lighter;
};

/// The number of marks per plane with which three planes can distinguish the classes.
std::int64_t choices_for(std::int64_t classes) {
  std::int64_t choices = 2;
  while (choices * choices * choices < classes) choices += 2;
  return choices;
}

Mark mark_of(std::int64_t label, std::int64_t classes, int plane) {
  const std::int64_t choices = choices_for(classes);
  for (int i = 0; i < plane; ++i) label /= choices;
  const std::int64_t choice = label % choices;
  return {static_cast<Shape>(choice / 2), choice % 2 == 1};
}

/// Signed distance to the mark's outline in units of its radius, negative inside, at (u, v).
double distance(Shape shape, double u, double v) {
  const auto box = [](double x, double y, double width, double height) {
    return std::max(std::abs(x) - width, std::abs(y) - height);
  };
  switch (shape) {
    case Shape::kBar:
      return box(u, v, 2.0, 0.4);
    case Shape::kRing:
      return std::abs(std::hypot(u, v) - 1.1) - 0.3;
    case Shape::kCross:
      return std::min(box(u, v, 1.4, 0.35), box(u, v, 0.35, 1.4));
    case Shape::kFrame:
      return std::abs(std::max(std::abs(u), std::abs(v)) - 1.0) - 0.3;
    case Shape::kSpot:
      break;
  }
  return std::hypot(u, v) - 1.0;
}

/// The marks of one plane: 1 inside, 0 outside, with a soft edge one pixel wide; then shifted to
/// mean 0, so that a plane's brightness does not reveal the number or lightness of its marks.
class MarkPlane {
 public:
  explicit MarkPlane(int size)
      : size_(size), values_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}

  void fill(Shape shape, base::RandomStream& random) {
    const double radius = random.uniform(0.07, 0.12) * size_;
    const double covered = random.uniform(0.18, 0.30) * size_ * size_;
    const int count =
        std::max(3, static_cast<int>(std::lround(covered / (std::numbers::pi * radius * radius))));
    for (int i = 0; i < count; ++i) add(shape, radius, random);
    const double mean =
        std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
    for (double& value : values_) value -= mean;
  }

  const std::vector<double>& values() const { return values_; }

 private:
  void add(Shape shape, double radius, base::RandomStream& random) {
    const double x = random.uniform(-radius, size_ + radius);
    const double y = random.uniform(-radius, size_ + radius);
    const double angle = random.uniform(0.0, 2.0 * std::numbers::pi);
    const double c = std::cos(angle), s = std::sin(angle);
    const double reach = 2.2 * radius + 1.0;
    const auto clip = [this](double place) {
      return static_cast<int>(std::clamp(place, 0.0, static_cast<double>(size_)));
    };
    for (int row = clip(y - reach); row < clip(y + reach + 1.0); ++row) {
      for (int column = clip(x - reach); column < clip(x + reach + 1.0); ++column) {
        const double dx = (column - x) / radius, dy = (row - y) / radius;
        const double inside = 0.5 - radius * distance(shape, c * dx + s * dy, c * dy - s * dx);
        double& value = values_[static_cast<std::size_t>(std::int64_t{row} * size_ + column)];
        value = std::max(value, std::clamp(inside, 0.0, 1.0));
      }
    }
  }

  int size_;
  std::vector<double> values_;
};

}  // namespace

dataset::Image draw_image(std::int64_t label, std::int64_t classes, int size,
                          base::RandomStream& random) {
  constexpr int kLeastSize = 8;
  if (classes < 1 || classes > kMaxDrawnClasses || label < 0 || label >= classes ||
      size < kLeastSize) {
    throw base::ConfigError(
        fmt::format("draw: expected 1 to {} classes, a label among them and a size of at least {}, "
                    "found {} classes, label {}, size {}",
                    kMaxDrawnClasses, kLeastSize, classes, label, size));
  }
  constexpr double kNoise = 0.03;
  const auto pixels = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  dataset::Image image{size, size, std::vector<std::uint8_t>(pixels * kPlanes)};
  for (int plane = 0; plane < kPlanes; ++plane) {
    const Mark mark = mark_of(label, classes, plane);
    MarkPlane marks(size);
    marks.fill(mark.shape, random);
    const double ground = random.uniform(0.42, 0.58);
    const double contrast = random.uniform(0.30, 0.45) * (mark.lighter ? 1.0 : -1.0);
    for (std::size_t i = 0; i < pixels; ++i) {
      const double value = ground + contrast * marks.values()[i] + kNoise * random.normal();
      image.pixels[i * kPlanes + static_cast<std::size_t>(plane)] =
          static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255.0));
    }
  }
  return image;
}

}  // namespace images
