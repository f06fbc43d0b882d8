// Which region of an image a transform uses.
// Hides the sampling rules of the references.
#pragma once

#include "runner/base/random.h"
#include "workloads/resnet50/resize.h"

namespace resnet50 {

/// Aspect ratio U[0.75, 1.33], area fraction in [0.05, 1] and at least 0.1 of the image covered, up
/// to 100 attempts, else the whole image. Source: TensorFlow's sample_distorted_bounding_box with
/// the whole image as box, as MLPerf's ResNet-50 reference calls it.
Region distorted_crop(int height, int width, base::RandomStream& random);

/// Area fraction U[0.08, 1], log-uniform aspect ratio [3/4, 4/3], 10 attempts, else the largest
/// centred region within those ratios. Source: torchvision's RandomResizedCrop.
Region random_resized_crop(int height, int width, base::RandomStream& random);

/// Size with shorter side `shorter` by float32 arithmetic and truncation (so 255 for some sides
/// when 256 is asked for, but never below the window), and the central window. Source: MLPerf's
/// ResNet-50 reference, evaluation.
Target central_target_mlperf(int height, int width, int shorter, int window);

/// As torchvision's Resize and CenterCrop.
Target central_target_torchvision(int height, int width, int shorter, int window);

}  // namespace resnet50
