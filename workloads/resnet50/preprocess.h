// From a decoded image to the network's input: the augmentation of training and the transform of
// evaluation. Hides crops, resizing and normalisation of each style.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/random.h"
#include "staging/dataset/dataset.h"
#include "workloads/resnet50/resize.h"

namespace resnet50 {

/// kMlperf: distorted crop, mirror, legacy bilinear; minus RGB means, not divided.
/// kTorchvision: random resized crop, antialiased bilinear, mirror; ImageNet's mean and deviation.
/// kCifar: shift by a few pixels over a black border, mirror; CIFAR-10's mean and deviation.
enum class Style { kMlperf, kTorchvision, kCifar };

/// By how many pixels each way kCifar shifts at most, where nobody says otherwise.
inline constexpr int kUsualShift = 4;

/// The styles as configurations name them, for ObjectReader::choice.
std::vector<std::pair<std::string, Style>> style_choices();

class Preprocess {
 public:
  /// image_size S: the square side of the input. evaluation_resize: what the shorter side is scaled
  /// to before the central S x S are cut out; equal to S it leaves no border. 0: round(S * 256 /
  /// 224), and S for kCifar. largest_shift: for kCifar alone. Throws ConfigError when the resize is
  /// below S, S below 1, or the shift not in 0 ... S.
  Preprocess(Style style, int image_size, int evaluation_resize = 0,
             int largest_shift = kUsualShift);

  int image_size() const { return image_size_; }
  int evaluation_resize() const { return evaluation_resize_; }
  std::int64_t sample_floats() const { return std::int64_t{3} * image_size_ * image_size_; }

  /// An augmented view; draws from `random`, which should be a stream of (seed, kAugment, epoch,
  /// global sample index), so that no rank ever enters.
  ///   out [3, S, S]. Throws ShapeError when `out` has another size.
  void train(const dataset::Image& image, base::RandomStream& random, std::span<float> out) const;
  /// The central view, always the same.
  void evaluate(const dataset::Image& image, std::span<float> out) const;

 private:
  void check(const dataset::Image& image, std::span<float> out) const;
  void shift(const dataset::Image& image, base::RandomStream& random, std::span<float> out) const;
  void center(const dataset::Image& image, std::span<float> out) const;
  void normalize(std::span<float> out) const;

  Style style_;
  int image_size_, evaluation_resize_, largest_shift_;
};

}  // namespace resnet50
