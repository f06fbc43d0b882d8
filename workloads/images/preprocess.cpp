// From a decoded image to the network's input: augmentation for training and the transform for
// evaluation.
#include "workloads/images/preprocess.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "runner/base/error.h"
#include "workloads/images/crops.h"

namespace images {
namespace {

/// Per channel, for pixels of 0..255: (value - mean) / deviation.
struct Normalization {
  std::array<float, 3> mean, deviation;
};

Normalization from_unit_range(const std::array<float, 3>& mean,
                              const std::array<float, 3>& deviation) {
  Normalization scaled{};
  for (std::size_t c = 0; c < mean.size(); ++c) {
    scaled.mean[c] = mean[c] * 255.0F;
    scaled.deviation[c] = deviation[c] * 255.0F;
  }
  return scaled;
}

/// Of ImageNet's training set, red first. Source: Caffe's ilsvrc_2012_mean.
constexpr std::array<float, 3> kCaffeMean = {122.67891F, 116.66877F, 104.00699F};

Normalization normalization_of(Style style) {
  switch (style) {
    case Style::kTorchvision:
      return from_unit_range({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F});
    case Style::kCifar:
      return from_unit_range({0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F});
    case Style::kCaffe:
      return {kCaffeMean, {1.0F, 1.0F, 1.0F}};
    case Style::kCaffeScaled:
      return {kCaffeMean, {256.0F, 256.0F, 256.0F}};
    case Style::kMlperf:
      break;
  }
  return {{123.68F, 116.78F, 103.94F}, {1.0F, 1.0F, 1.0F}};
}

bool is_caffe(Style style) { return style == Style::kCaffe || style == Style::kCaffeScaled; }

int default_resize(Style style, int image_size) {
  if (style == Style::kCifar) return image_size;
  return static_cast<int>(std::lround(image_size * 256.0 / (is_caffe(style) ? 227.0 : 224.0)));
}

Mirror draw_mirror(base::RandomStream& random) {
  return random.uniform() < 0.5 ? Mirror::kYes : Mirror::kNo;
}

}  // namespace

std::vector<std::pair<std::string, Style>> style_choices() {
  return {{"mlperf", Style::kMlperf},
          {"torchvision", Style::kTorchvision},
          {"cifar", Style::kCifar},
          {"caffe", Style::kCaffe},
          {"caffe_scaled", Style::kCaffeScaled}};
}

Preprocess::Preprocess(Style style, int image_size, int evaluation_resize, int largest_shift,
                       bool scaled_decoding)
    : style_(style),
      image_size_(image_size),
      evaluation_resize_(evaluation_resize == 0 ? default_resize(style, image_size)
                                                : evaluation_resize),
      largest_shift_(largest_shift),
      scaled_decoding_(scaled_decoding) {
  if (image_size_ < 1 || evaluation_resize_ < image_size_) {
    throw base::ConfigError(fmt::format(
        "preprocess: expected an image size of at least 1 and an evaluation resize of at least the "
        "image size, found {} and {}",
        image_size_, evaluation_resize_));
  }
  if (style == Style::kCifar && (largest_shift < 0 || largest_shift > image_size)) {
    throw base::ConfigError(
        fmt::format("preprocess: expected a largest shift of 0 to {} pixels, found {}", image_size,
                    largest_shift));
  }
}

void Preprocess::check(const dataset::Image& image, std::span<float> out) const {
  if (image.height < 1 || image.width < 1 ||
      static_cast<std::int64_t>(out.size()) != sample_floats()) {
    throw base::ShapeError(
        fmt::format("preprocess: expected room for {} floats, found {} for an "
                    "image of {} x {}",
                    sample_floats(), out.size(), image.height, image.width));
  }
}

Region Preprocess::draw_region(int height, int width, base::RandomStream& random) const {
  switch (style_) {
    case Style::kMlperf:
      return distorted_crop(height, width, random);
    case Style::kTorchvision:
      return random_resized_crop(height, width, random);
    default:
      break;
  }
  return {0, 0, height, width};
}

dataset::View Preprocess::draw_view(int height, int width, base::RandomStream& random) const {
  const Region region = draw_region(height, width, random);
  if (!scaled_decoding_ || style_ == Style::kCifar || is_caffe(style_)) return region;
  int factor = 1;
  for (const int larger : {2, 4, 8}) {
    if (std::min(region.height, region.width) >= larger * image_size_) factor = larger;
  }
  return {region, factor};
}

void Preprocess::train(const dataset::Image& image, base::RandomStream& random,
                       std::span<float> out) const {
  check(image, out);
  const Region all{0, 0, image.height, image.width};
  const Target whole{image_size_, image_size_, 0, 0, image_size_};
  switch (style_) {
    case Style::kMlperf:
      resize_legacy(image, all, whole, draw_mirror(random), out);
      break;
    case Style::kTorchvision:
      resize_antialiased(image, all, whole, draw_mirror(random), out);
      break;
    case Style::kCifar:
      shift(image, random, out);
      break;
    default:
      crop(image, random, out);
      break;
  }
  normalize(out);
}

void Preprocess::evaluate(const dataset::Image& image, std::span<float> out) const {
  check(image, out);
  center(image, out);
  normalize(out);
}

void Preprocess::center(const dataset::Image& image, std::span<float> out) const {
  const Region all{0, 0, image.height, image.width};
  if (style_ == Style::kMlperf) {
    const Target target =
        central_target_mlperf(image.height, image.width, evaluation_resize_, image_size_);
    resize_legacy(image, all, target, Mirror::kNo, out);
  } else if (is_caffe(style_)) {
    const int side = evaluation_resize_, offset = (side - image_size_) / 2;
    resize_antialiased(image, all, {side, side, offset, offset, image_size_}, Mirror::kNo, out);
  } else {
    const Target target =
        central_target_torchvision(image.height, image.width, evaluation_resize_, image_size_);
    resize_antialiased(image, all, target, Mirror::kNo, out);
  }
}

/// A window of the square image, each with the same probability, mirrored or not.
void Preprocess::crop(const dataset::Image& image, base::RandomStream& random,
                      std::span<float> out) const {
  const int side = evaluation_resize_;
  const auto places = static_cast<std::uint64_t>(side - image_size_ + 1);
  const int top = static_cast<int>(random.below(places));
  const int left = static_cast<int>(random.below(places));
  resize_antialiased(image, {0, 0, image.height, image.width}, {side, side, top, left, image_size_},
                     draw_mirror(random), out);
}

/// The central view shifted by some pixels along each axis, black outside of it, then mirrored or
/// not.
void Preprocess::shift(const dataset::Image& image, base::RandomStream& random,
                       std::span<float> out) const {
  const int size = image_size_;
  std::vector<float> view(out.size());
  center(image, view);
  const auto draw = [&] {
    const int border = largest_shift_;
    return static_cast<int>(random.below(static_cast<std::uint64_t>(2 * border + 1))) - border;
  };
  const int down = draw();
  const int right = draw();
  const bool mirrored = draw_mirror(random) == Mirror::kYes;
  const auto is_inside = [size](int place) { return place >= 0 && place < size; };
  float* write = out.data();
  for (int c = 0; c < 3; ++c) {
    for (int y = down; y < size + down; ++y) {
      for (int i = 0; i < size; ++i) {
        const int x = right + (mirrored ? size - 1 - i : i);
        const auto place = static_cast<std::size_t>((std::int64_t{c} * size + y) * size + x);
        *write++ = is_inside(y) && is_inside(x) ? view[place] : 0.0F;
      }
    }
  }
}

void Preprocess::normalize(std::span<float> out) const {
  const Normalization normalization = normalization_of(style_);
  const std::size_t plane = out.size() / normalization.mean.size();
  for (std::size_t c = 0; c < normalization.mean.size(); ++c) {
    const float mean = normalization.mean[c], deviation = normalization.deviation[c];
    for (float& value : out.subspan(c * plane, plane)) value = (value - mean) / deviation;
  }
}

}  // namespace images
