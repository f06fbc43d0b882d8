// The cut of a chain into stages.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "runner/base/error.h"
#include "workloads/parallel/split_layers/chain.h"

namespace parallel {
namespace {

using Kind = ChainLayer::Kind;

FeatureShape features_of(const nn::SampleShape& shape) {
  return {shape.channels, shape.spatial_size()};
}

/// He's initialization: the variance of a value stays through a layer and its ReLU.
nn::Initializer weights_of(std::int64_t inputs) {
  return {nn::Distribution::kNormal, std::sqrt(2.0 / static_cast<double>(inputs)), 0.0};
}

/// Builds the stages one operation at a time.
class Cutter {
 public:
  Cutter(const Chain& chain, int rank) : rank_(rank), shape_(chain.input) {}

  /// A convolution or fully connected layer; where it splits features, without its bias and ReLU.
  void product(const ChainLayer& layer, const Distribution& distribution) {
    const bool is_dense = layer.kind == Kind::kFullyConnected;
    // A flattened image has other neighbours in memory, so a stage begins.
    const bool flattens = is_dense && !shape_.spatial.empty();
    if (flattens) {
      begin(distribution, {shape_.size(), {}}, features_of(shape_));
    } else {
      go_to(distribution);
    }
    const FeatureShape in = stage().flattened.value_or(features_of(shape_));
    const Range channels = channels_of(distribution, rank_, in.channels);
    nn::Network& net = stage().network;
    const std::int64_t inputs = is_dense ? in.count() : in.channels * layer.kernel * layer.kernel;
    const nn::Initializer weights = weights_of(inputs);
    const bool fuses =
        is_dense && !distribution.splits_features && (!layer.relu || reads_vector_layer());
    if (is_dense) {
      nn::FullyConnectedSpec spec = {layer.name, layer.channels, weights, {}};
      spec.relu = fuses && layer.relu;
      spec.has_bias = fuses;
      value_ = net.fully_connected(value_, spec);
      add_part({layer.name + ".weight", {layer.channels, inputs}, weights, true}, 1,
               {channels.begin * in.points, channels.end * in.points});
    } else {
      value_ =
          net.convolution(value_, {layer.name, layer.channels, layer.kernel, layer.stride,
                                   nn::uniform_padding(2, layer.padding, layer.padding), weights});
      add_part({layer.name + ".weight",
                {layer.channels, in.channels, layer.kernel, layer.kernel},
                weights,
                true},
               1, channels);
    }
    if (fuses)
      add_part({layer.name + ".bias", {layer.channels}, {}, false}, 0, {0, layer.channels});
    shape_ = after_;
    stage().flattened.reset();
    name(layer.name);
    if (fuses) return;
    stage().gives_partial_sums = distribution.splits_features;
    pending_ = layer;
  }

  /// The bias and ReLU that the last product left.
  void finish_product(const Distribution& next) {
    if (!pending_) return;
    const ChainLayer layer = *std::exchange(pending_, std::nullopt);
    if (stage().gives_partial_sums) begin(next, shape_, features_of(shape_));
    nn::BiasedSpec spec = {layer.name, {}, layer.relu};
    if (layer.adds_bias()) spec.bias = nn::Initializer();
    // Partial sums that ranks exchanged come as plain planes.
    if (!stage().name.empty() && !spec.bias && !spec.relu) return;
    value_ = stage().network.biased(value_, spec);
    if (spec.bias) add_channels(layer.name + ".bias", *spec.bias);
    if (stage().name.empty()) name("behind " + layer.name);
  }

  /// A layer without weights; `next`: where it is the first.
  void other(const ChainLayer& layer, const Distribution& next) {
    if (stages_.empty()) go_to(next);
    nn::Network& net = stage().network;
    switch (layer.kind) {
      case Kind::kBatchNorm:
        value_ = net.batch_norm(value_, {layer.name, layer.relu});
        add_channels(layer.name + ".weight", {nn::Distribution::kConstant, 0.0, 1.0});
        add_channels(layer.name + ".bias", {});
        break;
      case Kind::kMaxPool:
        value_ = net.max_pool(value_, {layer.kernel, layer.stride,
                                       nn::uniform_padding(2, layer.padding, layer.padding)});
        break;
      default:
        value_ = net.global_average_pool(value_);
    }
    shape_ = after_;
    name(layer.name);
  }

  void set_shape_after(const nn::SampleShape& shape) { after_ = shape; }

  std::vector<Stage> finish() {
    close();
    std::vector<Stage> stages;
    for (Open& open : stages_) stages.push_back(std::move(open));
    return stages;
  }

 private:
  /// A stage; while its input is a flattened image, its channels and pixels.
  struct Open : Stage {
    std::optional<FeatureShape> flattened;
  };
  Open& stage() { return stages_.back(); }

  /// Whether a fully connected layer here may have a ReLU.
  bool reads_vector_layer() {
    const nn::OperationKind maker =
        stage().network.operations()[static_cast<std::size_t>(value_)].kind;
    return maker != nn::OperationKind::kGlobalAveragePool;
  }
  void close() {
    if (!stages_.empty()) stage().out = features_of(shape_);
  }
  /// Begins a stage whose input has the local channels of `whole`; `in`: as ranks split it.
  void begin(const Distribution& distribution, nn::SampleShape whole, const FeatureShape& in) {
    close();
    const Range channels = channels_of(distribution, rank_, in.channels);
    const bool is_first = stages_.empty();
    const bool is_flat = whole.spatial.empty();
    Open& open = stages_.emplace_back();
    open.distribution = distribution;
    open.in = in;
    if (is_flat && in.points > 1) open.flattened = in;
    whole.channels = is_flat ? channels.count() * in.points : channels.count();
    value_ =
        open.network.input(whole, is_first ? nn::InputGradient::kNone : nn::InputGradient::kWanted);
  }
  /// Continues the stage if it has that distribution.
  void go_to(const Distribution& distribution) {
    if (!stages_.empty() && stage().distribution == distribution) return;
    const bool is_first = stages_.empty();
    begin(distribution, shape_, features_of(shape_));
    // Images come as plain planes.
    if (!is_first && !shape_.spatial.empty()) {
      value_ = stage().network.biased(value_, {.name = "input"});
    }
  }
  void add_part(nn::ParameterSpec whole, std::size_t axis, const Range& range) {
    stage().parts.push_back({std::move(whole), axis, range});
  }
  void add_channels(const std::string& name, const nn::Initializer& initializer) {
    add_part({name, {shape_.channels}, initializer, false}, 0,
             channels_of(stage().distribution, rank_, shape_.channels));
  }
  void name(const std::string& layer) {
    stage().name += (stage().name.empty() ? "" : ", ") + layer;
  }

  const int rank_;
  nn::SampleShape shape_, after_;  ///< of all ranks: now, and after the next layer
  std::vector<Open> stages_;
  nn::ValueId value_ = -1;
  std::optional<ChainLayer> pending_;
};

/// Says the same on all ranks.
void require_fit(const Chain& chain, const ChainDistribution& distribution, int ranks) {
  const std::vector<WeightedLayer> layers = weighted_layers(chain);
  if (distribution.layers.size() != layers.size()) {
    throw base::ConfigError(fmt::format("expected a distribution for each of {} layers, got {}",
                                        layers.size(), distribution.layers.size()));
  }
  std::vector<Distribution> all = distribution.layers;
  all.push_back(distribution.loss);
  for (const Distribution& one : all) {
    if (one.group >= 1 && ranks % one.group == 0) continue;
    throw base::ConfigError(
        fmt::format("expected groups that divide {} ranks, got groups of {}", ranks, one.group));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t channels = layers[i].in.channels;
    if (distribution.layers[i].feature_parts() <= channels) continue;
    throw base::ConfigError(
        fmt::format("{}: expected at most {} ranks to split {} channels, got {}",
                    chain.layers[layers[i].layer].name, channels, channels,
                    distribution.layers[i].feature_parts()));
  }
  if (distribution.loss.splits_features) {
    throw base::ConfigError("the loss needs all features of a sample on a rank");
  }
}

}  // namespace

std::vector<Stage> cut(const Chain& chain, const ChainDistribution& distribution, int rank,
                       int ranks) {
  const std::vector<nn::SampleShape> shapes = shapes_of(chain);
  require_fit(chain, distribution, ranks);
  Cutter cutter(chain, rank);
  std::size_t weighted = 0;  // layers with weights so far
  for (std::size_t i = 0; i < chain.layers.size(); ++i) {
    const ChainLayer& layer = chain.layers[i];
    const Distribution& next =
        weighted < distribution.layers.size() ? distribution.layers[weighted] : distribution.loss;
    cutter.set_shape_after(shapes[i]);
    cutter.finish_product(next);
    if (layer.has_weights()) {
      cutter.product(layer, next);
      ++weighted;
    } else {
      cutter.other(layer, next);
    }
  }
  cutter.finish_product(distribution.loss);
  return cutter.finish();
}

std::vector<ActivationEdge> edges_of(const std::vector<Stage>& stages, const Distribution& loss,
                                     std::int64_t samples) {
  std::vector<ActivationEdge> edges;
  Distribution from;
  bool has_partial_sums = false;
  for (const Stage& stage : stages) {
    edges.push_back({from, stage.distribution, has_partial_sums, samples, stage.in});
    from = stage.distribution;
    has_partial_sums = stage.gives_partial_sums;
  }
  edges.push_back({from, loss, has_partial_sums, samples, stages.back().out});
  return edges;
}

}  // namespace parallel
