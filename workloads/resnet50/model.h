// ResNet v1, v1.5 and v2 as network descriptions; names are torchvision's.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/object_reader.h"
#include "workloads/nn/network.h"

namespace resnet50 {

/// kMlperf: the TF2 reference (stride-2 3x3 windows padded at the end, truncated normal weights, FC
/// N(0, 0.01)). kTorchvision: symmetric padding; He-normal by fan-out, FC uniform.
enum class Reference { kMlperf, kTorchvision };

/// kV1: the stride of a down-sampling block is in its first 1x1 convolution (He et al.,
/// arXiv:1512.03385). kV15: in its 3x3 one. kV2: likewise, with norm and ReLU before each
/// convolution, so that neither touches the skip path (He et al., arXiv:1603.05027).
enum class Version { kV1, kV15, kV2 };

struct ModelConfig {
  Version version = Version::kV15;
  std::int64_t depth = 50;  ///< 26, 50, 101 or 152
  std::int64_t width = 64;  ///< channels of the stem
  std::int64_t image_size = 224;
  std::int64_t classes = 1000;
  Reference padding = Reference::kMlperf;
  Reference initialization = Reference::kMlperf;
  bool zero_init_last_gamma =
      false;  ///< each block's last gamma starts at 0 (Goyal et al., arXiv:1706.02677)
};

/// Parses a "model" section.
ModelConfig parse_model(const base::ObjectReader& section);

/// "v1", "v1.5", "v2".
const char* to_string(Version version);

/// Input [3, S, S], output [classes]. With 1,000 classes at depth 50: 25,557,032 parameters, of v2
/// 25,549,352. Sources: MLPerf's ResNet-50 v1.5 reference; of v2, TensorFlow's official models.
nn::Network build_network(const ModelConfig& config);

/// The tensor names of MLPerf's weights_initialization records, in the reference's order
/// ("conv0_weight", ...).
std::vector<std::string> mlperf_tensor_names(const ModelConfig& config);

}  // namespace resnet50
