// Counts bytes, and finds the least by dynamic programming over the layers.
#include "workloads/parallel/split_layers/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "runner/base/error.h"

namespace parallel {
namespace {

constexpr auto kWeightBytes = static_cast<std::int64_t>(sizeof(float));

/// The smallest group that leaves a sample for each: 1, unless there are more ranks than samples.
int smallest_group(std::int64_t samples, int ranks) {
  for (int group = 1; group <= ranks; ++group) {
    if (ranks % group == 0 && ranks / group <= samples) return group;
  }
  throw base::ConfigError("expected at least one sample in a step, got none");
}

Distribution loss_of(std::int64_t samples, int ranks) {
  return {smallest_group(samples, ranks), false};
}

/// Bytes of the gradients of a stage's parameters. Ranks that compute the same exchange them apart.
std::int64_t gradient_bytes(std::int64_t weights, const Distribution& distribution, int ranks) {
  const std::int64_t copies = distribution.group / distribution.feature_parts();
  return 2 * (distribution.data_parts(ranks) - 1) * weights * copies * kWeightBytes;
}

/// The parts of a step's communication that follow from the distributions of two consecutive layers
/// with weights, or of the last one and the loss, or of the data and the first one.
class Costs {
 public:
  Costs(const Chain& chain, std::int64_t samples, int ranks)
      : chain_(chain),
        shapes_(shapes_of(chain)),
        layers_(weighted_layers(chain)),
        samples_(samples),
        ranks_(ranks) {}

  const std::vector<WeightedLayer>& layers() const { return layers_; }

  /// Of the weights of layer `layer`.
  Communication of(std::size_t layer, const Distribution& chosen) const {
    return {0, gradient_bytes(layers_[layer].weights, chosen, ranks_)};
  }

  /// Of what lies between layer `layer` - 1, or the data, and layer `layer`, or the loss.
  Communication between(std::size_t layer, const Distribution& from, const Distribution& to) const {
    const auto key =
        std::tuple(layer, from.group, from.splits_features, to.group, to.splits_features);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_.emplace(key, count_between(layer, from, to)).first->second;
  }

 private:
  Communication count_between(std::size_t layer, const Distribution& from,
                              const Distribution& to) const {
    Communication sum;
    const bool is_data = layer == 0;
    const std::size_t first = is_data ? 0 : layers_[layer - 1].layer + 1;
    const std::size_t end = layer < layers_.size() ? layers_[layer].layer : chain_.layers.size();
    const bool is_partial = !is_data && from.splits_features;
    // Of what has no products: it follows the exchange of partial sums, and comes before others.
    const Distribution& others = is_partial || is_data ? to : from;
    if (!is_data && chain_.layers[first - 1].adds_bias()) {
      sum.gradients += gradient_bytes(layers_[layer - 1].out.channels, others, ranks_);
    }
    for (std::size_t i = first; i < end; ++i) {
      if (chain_.layers[i].kind != ChainLayer::Kind::kBatchNorm) continue;
      sum.gradients += gradient_bytes(2 * shapes_[i].channels, others, ranks_);
    }
    const nn::SampleShape& made = is_data ? chain_.input : layers_[layer - 1].out;
    const nn::SampleShape& shape = is_partial || is_data || end == first ? made : shapes_[end - 1];
    const ActivationEdge edge = {
        from, to, is_partial, samples_, {shape.channels, shape.spatial_size()}};
    sum.activations = activation_bytes(edge, ranks_);
    // Data have no gradient. What a rank does not have of them comes from one other rank.
    if (is_data) {
      sum.activations =
          bytes_between(made_shares(edge, ranks_), wanted_shares(edge, ranks_), Sources::kOne);
    }
    return sum;
  }

  const Chain& chain_;
  const std::vector<nn::SampleShape> shapes_;
  const std::vector<WeightedLayer> layers_;
  const std::int64_t samples_;
  const int ranks_;
  mutable std::map<std::tuple<std::size_t, int, bool, int, bool>, Communication> known_;
};

Communication operator+(const Communication& a, const Communication& b) {
  return {a.activations + b.activations, a.gradients + b.gradients};
}

Communication total(const Costs& costs, const ChainDistribution& chosen) {
  Communication sum;
  Distribution before;
  for (std::size_t i = 0; i < chosen.layers.size(); ++i) {
    sum = sum + costs.between(i, before, chosen.layers[i]) + costs.of(i, chosen.layers[i]);
    before = chosen.layers[i];
  }
  return sum + costs.between(chosen.layers.size(), before, chosen.loss);
}

/// The cheapest way to a candidate of a layer.
struct Way {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  std::size_t before = 0;  ///< candidate of the layer before
};

ChainDistribution cheapest(const Costs& costs, std::int64_t samples, int ranks) {
  const auto& layers = costs.layers();
  std::vector<std::vector<Distribution>> choices;
  std::vector<std::vector<Way>> ways;
  const Distribution data;
  for (std::size_t i = 0; i <= layers.size(); ++i) {
    choices.push_back(i < layers.size() ? candidates(layers[i], samples, ranks)
                                        : std::vector{loss_of(samples, ranks)});
    std::vector<Way>& here = ways.emplace_back(choices[i].size());
    for (std::size_t c = 0; c < choices[i].size(); ++c) {
      const Distribution& to = choices[i][c];
      const std::int64_t own = i < layers.size() ? costs.of(i, to).total() : 0;
      if (i == 0) {
        here[c] = {costs.between(0, data, to).total() + own, 0};
        continue;
      }
      for (std::size_t b = 0; b < choices[i - 1].size(); ++b) {
        const std::int64_t bytes =
            ways[i - 1][b].bytes + costs.between(i, choices[i - 1][b], to).total() + own;
        if (bytes < here[c].bytes) here[c] = {bytes, b};
      }
    }
  }
  ChainDistribution chosen;
  chosen.layers.resize(layers.size());
  chosen.loss = choices.back().front();
  std::size_t c = 0;
  for (std::size_t i = layers.size(); i-- > 0;) {
    c = ways[i + 1][c].before;
    chosen.layers[i] = choices[i][c];
  }
  return chosen;
}

}  // namespace

const Alternative* PlannedLayer::next_best() const {
  const Alternative* best = nullptr;
  for (const Alternative& one : alternatives) {
    if (one.distribution == chosen) continue;
    if (best == nullptr || one.communication.total() < best->communication.total()) best = &one;
  }
  return best;
}

double computation_per_byte(const WeightedLayer& layer, double samples, double overlap) {
  // 3 products of 2 FLOPs for each weight and output pixel, over 4 bytes for each weight.
  return 1.5 * samples * static_cast<double>(layer.out.spatial_size()) / (2.0 - overlap);
}

double best_data_parts(std::int64_t samples, int ranks, std::int64_t outputs, double overlap) {
  const double best = std::sqrt(2.0 * ranks * static_cast<double>(samples) /
                                (static_cast<double>(outputs) * (2.0 - overlap)));
  return std::clamp(best, 1.0, static_cast<double>(ranks));
}

Communication communication_of(const Chain& chain, const ChainDistribution& distribution,
                               std::int64_t samples, int ranks) {
  return total(Costs(chain, samples, ranks), distribution);
}

std::vector<Distribution> candidates(const WeightedLayer& layer, std::int64_t samples, int ranks) {
  const int smallest = smallest_group(samples, ranks);
  std::vector<Distribution> found = {{smallest, false}};
  for (int group = std::max(2, smallest); group <= ranks; ++group) {
    const bool fits = ranks % group == 0 && group <= layer.in.channels;
    if (fits) found.push_back(split_by(group));
  }
  return found;
}

SplitPlan plan_layers(const Chain& chain, std::int64_t samples, int ranks) {
  const Costs costs(chain, samples, ranks);
  SplitPlan plan;
  plan.distribution = cheapest(costs, samples, ranks);
  plan.communication = total(costs, plan.distribution);
  plan.data_parallel = total(costs, distribution_by(chain, samples, ranks, 1));
  for (std::size_t i = 0; i < costs.layers().size(); ++i) {
    const WeightedLayer& layer = costs.layers()[i];
    const ChainLayer& described = chain.layers[layer.layer];
    PlannedLayer planned = {layer, described.name, plan.distribution.layers[i], {}, 0.0, 0.0};
    planned.computation_per_byte =
        computation_per_byte(layer, static_cast<double>(samples) / ranks, 0.0);
    if (described.kind == ChainLayer::Kind::kFullyConnected) {
      planned.best_data_parts = best_data_parts(samples, ranks, layer.out.channels, 0.0);
    }
    for (const Distribution& one : candidates(layer, samples, ranks)) {
      ChainDistribution changed = plan.distribution;
      changed.layers[i] = one;
      planned.alternatives.push_back({one, total(costs, changed)});
    }
    plan.layers.push_back(std::move(planned));
  }
  return plan;
}

ChainDistribution distribution_by(const Chain& chain, std::int64_t samples, int ranks, int group) {
  ChainDistribution distribution;
  distribution.loss = loss_of(samples, ranks);
  for (const WeightedLayer& layer : weighted_layers(chain)) {
    const std::vector<Distribution> possible = candidates(layer, samples, ranks);
    Distribution chosen = possible.front();
    for (const Distribution& one : possible) {
      if (one.group <= group) chosen = one;
    }
    distribution.layers.push_back(chosen);
  }
  return distribution;
}

}  // namespace parallel
