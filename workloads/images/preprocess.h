// From a decoded image to the network's input: augmentation for training and the transform for
// evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/dataset.h"
#include "workloads/images/resize.h"

namespace images {

/// kMlperf: distorted crop, mirror, legacy bilinear; minus RGB means, not divided.
/// kTorchvision: random resized crop, antialiased bilinear, mirror; ImageNet's mean and deviation.
/// kCaffe: the whole image resized to a square, a random crop of it, mirror; minus RGB means, not
/// divided. kCaffeScaled: the same, divided by 256. Caffe subtracts a mean image and resizes
/// without antialiasing. kCifar: shift by a few pixels over a black border, mirror; CIFAR-10's mean
/// and deviation.
enum class Style { kMlperf, kTorchvision, kCifar, kCaffe, kCaffeScaled };

/// Default of the largest shift of kCifar, in pixels in each direction.
inline constexpr int kUsualShift = 4;

/// The names of the styles in configurations, for ObjectReader::choice.
std::vector<std::pair<std::string, Style>> style_choices();

class Preprocess {
 public:
  /// image_size S: the square side of the input. evaluation_resize: the length to which the shorter
  /// side is scaled before the central S x S crop (S crops nothing from that side); 0: round(S *
  /// 256 / 224), of kCaffe round(S * 256 / 227), and S for kCifar. kCaffe scales both sides to it,
  /// in training, too. largest_shift: only for kCifar. Throws ConfigError when
  /// evaluation_resize is below S, S is below 1, or the shift is not in 0 ... S.
  /// scaled_decoding: see draw_view().
  Preprocess(Style style, int image_size, int evaluation_resize = 0,
             int largest_shift = kUsualShift, bool scaled_decoding = false);

  int image_size() const { return image_size_; }
  int evaluation_resize() const { return evaluation_resize_; }
  std::int64_t sample_floats() const { return std::int64_t{3} * image_size_ * image_size_; }

  /// The part of an image of this size that an augmented view shows; with scaled_decoding shrunk as
  /// far as both its sides stay at least S. `random` should be a stream of (seed, kAugment, epoch,
  /// global sample index), so that the result does not depend on the rank.
  dataset::View draw_view(int height, int width, base::RandomStream& random) const;
  /// An augmented view of that part, `image`; `random` as draw_view() left it.
  ///   out [3, S, S]. Throws ShapeError when `out` has another size.
  void train(const dataset::Image& image, base::RandomStream& random, std::span<float> out) const;
  /// The central view, without randomness.
  void evaluate(const dataset::Image& image, std::span<float> out) const;

 private:
  Region draw_region(int height, int width, base::RandomStream& random) const;
  void check(const dataset::Image& image, std::span<float> out) const;
  void shift(const dataset::Image& image, base::RandomStream& random, std::span<float> out) const;
  void crop(const dataset::Image& image, base::RandomStream& random, std::span<float> out) const;
  void center(const dataset::Image& image, std::span<float> out) const;
  void normalize(std::span<float> out) const;

  Style style_;
  int image_size_, evaluation_resize_, largest_shift_;
  bool scaled_decoding_;
};

}  // namespace images
