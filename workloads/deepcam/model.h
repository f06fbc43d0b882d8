// The DeepCAM network: a modified Xception encoder down to 1/16 of the resolution, pyramid pooling
// by atrous convolutions, and a decoder of transposed convolutions.
#pragma once

#include <cstdint>

#include "runner/base/object_reader.h"
#include "workloads/nn/network.h"

namespace deepcam {

inline constexpr std::int64_t kClasses = 3;  ///< background, tropical cyclone, atmospheric river
/// Height and width are multiples of it: the encoder goes down to 1/16 of the resolution.
inline constexpr std::int64_t kResolutions = 16;

struct ModelConfig {
  std::int64_t height = 768, width = 1152;  ///< multiples of 16
  std::int64_t inputs = 16;                 ///< channels of a sample
  std::int64_t middle_blocks = 16;
  /// Channels of each part.
  std::int64_t conv1 = 32, conv2 = 64, block1 = 128, block2 = 256, middle = 728, block20 = 1024;
  std::int64_t conv3 = 1536, conv4 = 1536, conv5 = 2048;
  std::int64_t aspp = 256, low_level = 48, decoder = 256;
};

ModelConfig parse_model(const base::ObjectReader& in);

/// [16, H, W] -> logits [3, H, W] as floats. 56,454,720 parameters in the published configuration,
/// with the reference's names (xception_features.conv1.weight, ...). Source: mlcommons/hpc,
/// deepcam/src/deepCam/architecture/deeplab_xception.py; Chen et al., arXiv:1802.02611.
nn::Network build_network(const ModelConfig& config);

}  // namespace deepcam
