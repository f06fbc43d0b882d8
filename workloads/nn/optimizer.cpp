// SGD and LARS as one elementwise rule with different coefficients, run over blocks of all tensors.
// Hides the work list and the rule's coefficients.
#include "workloads/nn/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runner/base/error.h"

namespace nn {
namespace {

constexpr int kLanes = 8;

struct Block {
  std::size_t parameter;
  std::int64_t begin, count;
};

/// One step of one tensor: u = g + decay w; v = keep_v v + into_v u;
/// w = keep_w w - from_v v - from_u u.
struct Rule {
  float decay = 0.0F;
  float keep_v = 0.0F, into_v = 1.0F;
  float keep_w = 1.0F, from_v = 0.0F, from_u = 0.0F;
};

/// Every update moves about 20 bytes for 8 operations: memory bounds it, so baseline SIMD is
/// enough.
void update(const Rule& rule, std::int64_t count, const float* __restrict gradient,
            float* __restrict weights, float* __restrict velocity) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float u = gradient[i] + rule.decay * weights[i];
    const float v = rule.keep_v * velocity[i] + rule.into_v * u;
    velocity[i] = v;
    weights[i] = rule.keep_w * weights[i] - (rule.from_v * v + rule.from_u * u);
  }
}

/// The same without momentum, where v is u times into_v and need not be stored.
void update(const Rule& rule, std::int64_t count, const float* __restrict gradient,
            float* __restrict weights) {
  const float rate = rule.from_v * rule.into_v + rule.from_u;
  for (std::int64_t i = 0; i < count; ++i) {
    const float u = gradient[i] + rule.decay * weights[i];
    weights[i] = rule.keep_w * weights[i] - rate * u;
  }
}

/// Squares of floats are exact in double and lanes are added in a fixed order, so that the sum is
/// the same for every instruction set.
double sum_of_squares(const float* values, std::int64_t count) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) {
    const double value = values[i];
    lanes[static_cast<std::size_t>(lane)] += value * value;
  }
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

struct Norms {
  double weights = 0.0, gradient = 0.0;
};

/// What both optimizers share: momentum buffers and the passes over memory. A derived class gives
/// the rule of each tensor.
class MomentumOptimizer : public Optimizer {
 public:
  explicit MomentumOptimizer(Hyperparameters hyperparameters)
      : hyperparameters_(std::move(hyperparameters)) {}

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    share_ = std::move(share);
    names_.clear();
    counts_.clear();
    blocks_.clear();
    mine_.clear();
    std::int64_t floats = 0;
    std::vector<std::int64_t> places;
    for (const ParameterView& parameter : parameters) {
      names_.push_back(parameter.name);
      counts_.push_back(parameter.count);
      add_blocks(parameter);
      places.push_back(floats);
      floats += aligned_floats(parameter.count);
    }
    place_velocities(places, floats);
  }

  std::vector<StateView> state() override {
    std::vector<StateView> views;
    if (hyperparameters_.momentum == 0.0) return views;
    for (std::size_t p = 0; p < names_.size(); ++p) {
      views.push_back({"momentum/" + names_[p], static_cast<std::int64_t>(p), velocities_[p]});
    }
    return views;
  }

  const Hyperparameters& hyperparameters() const override { return hyperparameters_; }

 protected:
  void prepare_or_check(std::span<const ParameterView> parameters) {
    if (names_.empty()) prepare(parameters, {});
    bool same = parameters.size() == names_.size();
    for (std::size_t p = 0; same && p < names_.size(); ++p) {
      same = parameters[p].name == names_[p] && parameters[p].count == counts_[p];
    }
    if (!same) throw base::ShapeError("optimizer: step() got other parameters than prepare()");
  }

  void apply(std::span<const ParameterView> parameters, const std::vector<Rule>& rules) {
    const auto blocks = static_cast<std::int64_t>(mine_.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const auto [p, begin, count] = blocks_[mine_[static_cast<std::size_t>(b)]];
      const float* gradient = parameters[p].gradient + begin;
      float* weights = parameters[p].weights + begin;
      if (velocities_[p].empty()) {
        update(rules[p], count, gradient, weights);
      } else {
        update(rules[p], count, gradient, weights, velocities_[p].data() + begin);
      }
      for (const KeptCopy& copy : parameters[p].copies) {
        copy.rule.update(parameters[p].weights, begin, count, copy.place);
      }
    }
  }

  /// Norms of the tensors that decay; the others' stay 0.
  std::vector<Norms> norms(std::span<const ParameterView> parameters) {
    // Of each block that of weights and that of the gradient; 0 for blocks of other replicas, so
    // that their sum is exact.
    std::vector<double> partial(2 * blocks_.size());
    const auto blocks = static_cast<std::int64_t>(mine_.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::size_t block = mine_[static_cast<std::size_t>(b)];
      const auto [p, begin, count] = blocks_[block];
      if (!parameters[p].decays) continue;
      partial[2 * block] = sum_of_squares(parameters[p].weights + begin, count);
      partial[2 * block + 1] = sum_of_squares(parameters[p].gradient + begin, count);
    }
    if (share_.is_mine) share_.sum(partial);
    std::vector<Norms> result(parameters.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      result[blocks_[b].parameter].weights += partial[2 * b];
      result[blocks_[b].parameter].gradient += partial[2 * b + 1];
    }
    for (Norms& norm : result) norm = {std::sqrt(norm.weights), std::sqrt(norm.gradient)};
    return result;
  }

 private:
  /// Cut by offset, not by count: whoever owns a cell owns all blocks in it.
  void add_blocks(const ParameterView& parameter) {
    std::int64_t begin = 0;
    while (begin < parameter.count) {
      const std::int64_t into_cell = (parameter.offset + begin) % kUpdateCell;
      const std::int64_t count = std::min(kUpdateCell - into_cell, parameter.count - begin);
      if (!share_.is_mine || share_.is_mine(parameter.offset + begin)) {
        mine_.push_back(blocks_.size());
      }
      blocks_.push_back({names_.size() - 1, begin, count});
      begin += count;
    }
  }

  void place_velocities(const std::vector<std::int64_t>& places, std::int64_t floats) {
    velocities_.assign(places.size(), {});
    if (hyperparameters_.momentum == 0.0) return;
    if (!share_.memory) share_.memory = std::make_shared<PrivateMemory>();
    const std::span<float> all = share_.memory->shared_block(floats);
    for (std::size_t p = 0; p < places.size(); ++p) {
      velocities_[p] =
          all.subspan(static_cast<std::size_t>(places[p]), static_cast<std::size_t>(counts_[p]));
    }
  }

  Hyperparameters hyperparameters_;
  UpdateShare share_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> counts_;
  std::vector<std::span<float>> velocities_;  ///< empty without momentum
  std::vector<Block> blocks_;                 ///< of all replicas
  std::vector<std::size_t> mine_;             ///< those of this one
};

class Sgd final : public MomentumOptimizer {
 public:
  explicit Sgd(const SgdConfig& config)
      : MomentumOptimizer({"sgd", config.momentum, config.weight_decay, 0.0}), config_(config) {}

  void step(std::span<const ParameterView> parameters, double learning_rate) override {
    prepare_or_check(parameters);
    std::vector<Rule> rules;
    for (const ParameterView& p : parameters) rules.push_back(rule(p.decays, learning_rate));
    apply(parameters, rules);
  }

 private:
  Rule rule(bool decays, double learning_rate) const {
    const double decay = decays ? config_.weight_decay : 0.0;
    Rule rule;
    if (config_.decay_mode == DecayMode::kDecoupled) {
      rule.keep_w = static_cast<float>(1.0 - learning_rate * decay);
    } else {
      const double factor = config_.decay_mode == DecayMode::kKerasL2 ? 2.0 : 1.0;
      rule.decay = static_cast<float>(factor * decay);
    }
    const bool torch = config_.form == MomentumForm::kTorch;
    const double rate_of_v = torch ? learning_rate : 1.0;
    rule.keep_v = static_cast<float>(config_.momentum);
    rule.into_v = torch ? 1.0F : static_cast<float>(learning_rate);
    rule.from_v = static_cast<float>(config_.nesterov ? rate_of_v * config_.momentum : rate_of_v);
    rule.from_u = config_.nesterov ? static_cast<float>(learning_rate) : 0.0F;
    return rule;
  }

  SgdConfig config_;
};

class Lars final : public MomentumOptimizer {
 public:
  explicit Lars(const LarsConfig& config)
      : MomentumOptimizer({"lars", config.momentum, config.weight_decay, config.epsilon}),
        config_(config) {}

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    MomentumOptimizer::prepare(parameters, std::move(share));
    previous_learning_rate_ = 0.0F;
  }

  void step(std::span<const ParameterView> parameters, double learning_rate) override {
    prepare_or_check(parameters);
    const std::vector<Norms> norm = norms(parameters);
    std::vector<Rule> rules;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      rules.push_back(rule(parameters[p].decays, norm[p], learning_rate));
    }
    apply(parameters, rules);
    previous_learning_rate_ = static_cast<float>(learning_rate);
  }

  std::vector<StateView> state() override {
    std::vector<StateView> views = MomentumOptimizer::state();
    if (!views.empty() && config_.variant == LarsVariant::kCorrected) {
      views.push_back({"previous_learning_rate", -1, {&previous_learning_rate_, 1}});
    }
    return views;
  }

 private:
  double trust(const Norms& norm) const {
    if (norm.weights == 0.0 || norm.gradient == 0.0) return 1.0;
    return config_.eta * norm.weights /
           (norm.gradient + config_.weight_decay * norm.weights + config_.epsilon);
  }

  /// lr_t / lr_(t-1), from the floats that a checkpoint keeps. After a step with lr 0 the buffer is
  /// 0 as well, so any factor will do.
  double correction(double learning_rate) const {
    if (config_.variant != LarsVariant::kCorrected || previous_learning_rate_ == 0.0F) return 1.0;
    return learning_rate / static_cast<double>(previous_learning_rate_);
  }

  Rule rule(bool decays, const Norms& norm, double learning_rate) const {
    const double ratio = decays ? trust(norm) : 1.0;
    const bool unscaled = config_.variant == LarsVariant::kUnscaled;
    const double rate_of_v = unscaled ? learning_rate : 1.0;
    Rule rule;
    rule.decay = decays ? static_cast<float>(config_.weight_decay) : 0.0F;
    rule.keep_v = static_cast<float>(config_.momentum * correction(learning_rate));
    rule.into_v = static_cast<float>(unscaled ? ratio : learning_rate * ratio);
    rule.from_v = static_cast<float>(config_.nesterov ? rate_of_v * config_.momentum : rate_of_v);
    rule.from_u = config_.nesterov ? static_cast<float>(learning_rate * ratio) : 0.0F;
    return rule;
  }

  LarsConfig config_;
  float previous_learning_rate_ = 0.0F;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const SgdConfig& config) {
  return std::make_unique<Sgd>(config);
}

std::unique_ptr<Optimizer> make_lars(const LarsConfig& config) {
  return std::make_unique<Lars>(config);
}

}  // namespace nn
