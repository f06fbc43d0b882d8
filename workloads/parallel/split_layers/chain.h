// A network as a chain of layers, one behind the other, and its cut into what each rank computes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/nn/network.h"
#include "workloads/parallel/split_layers/activation_exchange.h"
#include "workloads/parallel/split_layers/distribution.h"

namespace parallel {

struct ChainLayer {
  enum class Kind { kConvolution, kFullyConnected, kBatchNorm, kMaxPool, kAveragePool };
  Kind kind = Kind::kFullyConnected;
  std::string name;
  std::int64_t channels = 0;  ///< of the output; convolutions and fully connected layers
  std::int64_t kernel = 1, stride = 1, padding = 0;  ///< convolutions and max pools
  bool relu = false;
  bool has_bias = true;  ///< convolutions; fully connected layers always have one
  bool adds_bias() const { return has_bias || kind == Kind::kFullyConnected; }
  bool has_weights() const { return kind == Kind::kConvolution || kind == Kind::kFullyConnected; }
};

/// A fully connected layer takes images flattened, a channel after the other; kAveragePool is the
/// mean over the image. The last layer gives a vector.
struct Chain {
  nn::SampleShape input;
  std::vector<ChainLayer> layers;
};

/// The shape behind each layer. Throws ShapeError for layers that do not fit.
std::vector<nn::SampleShape> shapes_of(const Chain& chain);

/// A layer with weights.
struct WeightedLayer {
  std::size_t layer = 0;  ///< index in the chain
  nn::SampleShape in, out;
  std::int64_t weights = 0;  ///< without the bias
};
std::vector<WeightedLayer> weighted_layers(const Chain& chain);

/// How each layer with weights is distributed, in order, and how the loss is. Behind partial sums,
/// bias and layers without weights are distributed as the next layer with weights; behind whole
/// sums they stay with the layer before.
struct ChainDistribution {
  std::vector<Distribution> layers;
  Distribution loss;
};

/// A parameter of a rank's network: a part of a whole tensor along one axis.
struct ParameterPart {
  nn::ParameterSpec whole;
  std::size_t axis = 0;
  Range range;  ///< along that axis
  std::vector<float> of(const std::vector<float>& values) const;
  /// Puts the part's `values` where they belong in the whole tensor.
  void put(const std::vector<float>& values, std::vector<float>& into) const;
};

/// Consecutive layers, distributed alike, that exchange no activations.
struct Stage {
  nn::Network network;               ///< of this rank; one input
  std::vector<ParameterPart> parts;  ///< by parameter of the network
  Distribution distribution;
  bool gives_partial_sums = false;
  FeatureShape in, out;  ///< of all ranks together
  std::string name;      ///< of its layers
};

/// Throws ConfigError for distributions that do not fit the ranks or the channels.
std::vector<Stage> cut(const Chain& chain, const ChainDistribution& distribution, int rank,
                       int ranks);
/// The exchanges of activations: before the first stage, to which samples come one set for each
/// rank, between stages, and to the loss.
std::vector<ActivationEdge> edges_of(const std::vector<Stage>& stages, const Distribution& loss,
                                     std::int64_t samples);

/// AlexNet's convolutions and fully connected layers in one tower, and VGG-16, for images of 224 x
/// 224 pixels and 1000 classes; without local response normalization and dropout.
Chain alexnet();
Chain vgg16();
/// Fully connected layers: inputs, then the outputs of each layer; ReLUs between them.
Chain perceptron(const std::vector<std::int64_t>& widths);

}  // namespace parallel
