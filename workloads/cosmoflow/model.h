// The CosmoFlow network: convolutions with pooling, and a perceptron that predicts the parameters
// of the cosmology.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/base/object_reader.h"
#include "workloads/nn/network.h"

namespace cosmoflow {

inline constexpr std::int64_t kTargets = 4;  ///< Omega_m, sigma_8, n_s, H_0

struct ModelConfig {
  std::int64_t size = 128;     ///< voxels along each axis of a sample
  std::int64_t redshifts = 4;  ///< channels of a sample
  std::vector<std::int64_t> channels = {32, 64, 128, 256, 512};  ///< of each convolution
  std::vector<std::int64_t> dense = {128, 64};  ///< outputs of each fully connected layer
  double dropout = 0.5;                         ///< after each of them
};

/// How ranks share a sample: the number of parts along depth and height, one part per rank.
struct Split {
  std::int64_t depth = 1, height = 1;
  std::int64_t parts() const { return depth * height; }
};
/// Whether the first convolution can be computed with this split.
bool can_split(const ModelConfig& model, const Split& split);

/// Parses a "model" section. Throws ConfigError for sizes that cannot be halved by each
/// convolution, and numbers of channels that the kernels do not support.
ModelConfig parse_model(const base::ObjectReader& in);

/// [redshifts, size^3], channels last with a margin of one voxel -> [4]. Each convolution has 3 x 3
/// x 3 taps, zero padding, bias, LeakyReLU 0.3 and 2 x 2 x 2 max pooling. Fully connected layers
/// with LeakyReLU 0.3 and dropout follow; the output is 1.2 tanh of the last layer. Parameters have
/// Keras's names and order: conv3d/kernel:0 [3, 3, 3, in, out], dense/kernel:0 [in, out]. Weights
/// are Glorot uniform, biases zero; only weights of the dense layers but the last one decay.
/// Source: mlcommons/hpc, cosmoflow/models/cosmoflow.py.
/// With a split, this is the network of one rank: it computes on parts while their pooled extents
/// stay even, then gathers the whole volume and computes the rest of the network on it.
nn::Network build_network(const ModelConfig& model, const Split& split = {});

}  // namespace cosmoflow
