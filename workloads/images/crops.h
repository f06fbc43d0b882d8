// The region of an image that a transform uses, by the references' sampling rules.
#pragma once

#include "runner/base/random.h"
#include "workloads/images/resize.h"

namespace images {

/// Aspect ratio U[0.75, 1.33], area fraction in [0.05, 1] and at least 0.1 of the image covered, up
/// to 100 attempts, else the whole image. Source: TensorFlow's sample_distorted_bounding_box with
/// the whole image as box, as MLPerf's ResNet-50 reference calls it.
Region distorted_crop(int height, int width, base::RandomStream& random);

/// Area fraction U[0.08, 1], log-uniform aspect ratio [3/4, 4/3], 10 attempts, else the largest
/// centred region within those ratios. Source: torchvision's RandomResizedCrop.
Region random_resized_crop(int height, int width, base::RandomStream& random);

/// Resizes to shorter side `shorter` by float32 arithmetic and truncation (so some sides become 255
/// for 256, but none smaller than the window) and takes the central window. Source: MLPerf's
/// ResNet-50 reference, evaluation.
Target central_target_mlperf(int height, int width, int shorter, int window);

/// As torchvision's Resize and CenterCrop.
Target central_target_torchvision(int height, int width, int shorter, int window);

}  // namespace images
