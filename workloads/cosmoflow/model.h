// The CosmoFlow network: convolutions that halve a volume, and a perceptron that gives the
// cosmology's parameters. Hides names and initial weights.
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
  double dropout = 0.5;                         ///< behind each of them
};

/// How ranks share a sample: parts along depth and height, each of a rank.
struct Split {
  std::int64_t depth = 1, height = 1;
  std::int64_t parts() const { return depth * height; }
};
/// Whether the first convolution can be computed so.
bool can_split(const ModelConfig& model, const Split& split);

/// Throws ConfigError for sizes that do not halve, and channels that the kernels do not have.
ModelConfig parse_model(const base::ObjectReader& in);

/// [redshifts, size^3] channels last in a margin of one -> [4]: per convolution 3 x 3 x 3 taps
/// (zeros around, bias, LeakyReLU 0.3) and maxima of 2 x 2 x 2; then fully connected layers with
/// LeakyReLU 0.3 and dropout, and 1.2 tanh of the last. Parameters under Keras's names and in its
/// order: conv3d/kernel:0 [3, 3, 3, in, out], dense/kernel:0 [in, out]. Glorot's uniform weights,
/// zero biases; weights of the dense layers but the last one decay. Source: mlcommons/hpc,
/// cosmoflow/models/cosmoflow.py. With a split, what one of its ranks computes: parts as long as
/// halves of them are whole pairs of points, then, put together, all that is left.
nn::Network build_network(const ModelConfig& model, const Split& split = {});

}  // namespace cosmoflow
