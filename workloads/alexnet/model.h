// AlexNet and AlexNet-BN as network descriptions; names are Caffe's layers.
#pragma once

#include <cstdint>

#include "runner/base/object_reader.h"
#include "workloads/nn/network.h"

namespace alexnet {

/// kResponse: response norms behind the first two ReLUs (Krizhevsky et al., NIPS 2012).
/// kBatch: instead, batch norms without gamma and beta of what conv2 to conv5 read, behind pools
/// and ReLUs (Ginsburg's AlexNet-BN, train_val2). kBatchAffine: the same with gamma and beta, as
/// Intel's Caffe trained it. kBatchFirst: batch norms between convolution and ReLU, of all five
/// (train_val).
enum class Normalization { kResponse, kBatch, kBatchAffine, kBatchFirst };

/// kImagenet: an 11x11 convolution with stride 4. kSmall: a 5x5 one without a stride, for images of
/// 32 to 64 pixels.
enum class Stem { kImagenet, kSmall };

/// kPublished: that of the networks' files, N(0, 0.01) or N(0, 0.005) and small biases. kHe: N(0,
/// 2 / fan-in) and no biases, without which few channels lose the signal.
enum class Initialization { kPublished, kHe };

struct ModelConfig {
  Normalization normalization = Normalization::kResponse;
  Stem stem = Stem::kImagenet;
  std::int64_t width = 96;     ///< channels of the first convolution, a multiple of 6
  std::int64_t hidden = 4096;  ///< width of the first two fully connected layers
  std::int64_t image_size = 227;
  std::int64_t classes = 1000;
  double dropout = 0.5;  ///< behind each of these
  Initialization initialization = Initialization::kPublished;
};

/// Parses a "model" section.
ModelConfig parse_model(const base::ObjectReader& section);

/// Input [3, S, S], output [classes]. As published, of 227 pixels: 60,965,224 parameters;
/// 60,967,464 of kBatchAffine, 60,966,856 of kBatchFirst. Convolutions 2, 4 and 5 have two groups.
/// Sources: BVLC's bvlc_alexnet, NVIDIA's alexnet_bn.
nn::Network build_network(const ModelConfig& config);

}  // namespace alexnet
