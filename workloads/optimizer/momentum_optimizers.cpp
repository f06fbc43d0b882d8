// SGD and LARS as one elementwise rule with different coefficients, run over blocks of all tensors.
#include "workloads/optimizer/momentum_optimizers.h"

#include <array>
#include <cmath>
#include <utility>

#include "workloads/optimizer/update_blocks.h"

namespace nn {
namespace {

/// One step of one tensor: u = g + decay w; v = keep_v v + into_v u;
/// w = keep_w w - from_v v - from_u u.
struct Rule {
  float decay = 0.0F;
  float keep_v = 0.0F, into_v = 1.0F;
  float keep_w = 1.0F, from_v = 0.0F, from_u = 0.0F;
};

/// Every update moves about 20 bytes for 8 operations: memory bounds it, so baseline SIMD is
/// enough.
void advance(const Rule& rule, std::int64_t count, const float* __restrict gradient,
             float* __restrict weights, float* __restrict velocity) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float u = gradient[i] + rule.decay * weights[i];
    const float v = rule.keep_v * velocity[i] + rule.into_v * u;
    velocity[i] = v;
    weights[i] = rule.keep_w * weights[i] - (rule.from_v * v + rule.from_u * u);
  }
}

/// The same without momentum, where v is u times into_v and need not be stored.
void advance(const Rule& rule, std::int64_t count, const float* __restrict gradient,
             float* __restrict weights) {
  const float rate = rule.from_v * rule.into_v + rule.from_u;
  for (std::int64_t i = 0; i < count; ++i) {
    const float u = gradient[i] + rule.decay * weights[i];
    weights[i] = rule.keep_w * weights[i] - rate * u;
  }
}

struct Norms {
  double weights = 0.0, gradient = 0.0;
};

/// Base of both optimizers: momentum buffers and the passes over memory. A derived class computes
/// the rule of each tensor.
class MomentumOptimizer : public Optimizer {
 public:
  explicit MomentumOptimizer(Hyperparameters hyperparameters)
      : hyperparameters_(std::move(hyperparameters)) {}

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    blocks_.prepare(
        parameters, std::move(share),
        has_momentum() ? std::vector<std::string>{"momentum"} : std::vector<std::string>());
  }
  void begin_update(std::span<const ParameterView> parameters, double learning_rate) override {
    if (!blocks_.is_prepared()) prepare(parameters, {});
    blocks_.require_same(parameters);
    learning_rate_ = learning_rate;
  }
  std::vector<StateView> state() override { return blocks_.state(); }
  int buffers() const override { return has_momentum() ? 1 : 0; }
  const Hyperparameters& hyperparameters() const override { return hyperparameters_; }

 protected:
  double learning_rate() const { return learning_rate_; }

  /// rules[i] is of parameter range.first + i.
  void apply(std::span<const ParameterView> parameters, ParameterRange range,
             const std::vector<Rule>& rules) {
    blocks_.for_each(range, [&](const UpdateBlock& block) {
      const ParameterView& parameter = parameters[block.parameter];
      const Rule& rule = rules[block.parameter - range.first];
      const float* gradient = parameter.gradient + block.begin;
      float* weights = parameter.weights + block.begin;
      if (has_momentum()) {
        advance(rule, block.count, gradient, weights, blocks_.buffer(0, block));
      } else {
        advance(rule, block.count, gradient, weights);
      }
      update_copies(parameter, block);
    });
  }

  /// Norms of the tensors of a range that are in the scope; 0 for others.
  std::vector<Norms> norms(std::span<const ParameterView> parameters, ParameterRange range,
                           DecayScope scope) {
    const auto squares =
        blocks_.sums<2>(range, [&](const UpdateBlock& block) -> std::array<double, 2> {
          const ParameterView& parameter = parameters[block.parameter];
          if (scope == DecayScope::kWeights && !parameter.decays) return {};
          return {sum_of_squares(parameter.weights + block.begin, block.count),
                  sum_of_squares(parameter.gradient + block.begin, block.count)};
        });
    std::vector<Norms> result;
    for (const auto& [weights, gradient] : squares) {
      result.push_back({std::sqrt(weights), std::sqrt(gradient)});
    }
    return result;
  }

 private:
  bool has_momentum() const { return hyperparameters_.momentum != 0.0; }

  Hyperparameters hyperparameters_;
  UpdateBlocks blocks_;
  double learning_rate_ = 0.0;
};

Hyperparameters hyperparameters_of(const SgdConfig& config) {
  Hyperparameters hyperparameters;
  hyperparameters.name = "sgd";
  hyperparameters.momentum = config.momentum;
  hyperparameters.weight_decay = config.weight_decay;
  hyperparameters.form = config.form;
  hyperparameters.decay_mode = config.decay_mode;
  hyperparameters.nesterov = config.nesterov;
  return hyperparameters;
}

class Sgd final : public MomentumOptimizer {
 public:
  explicit Sgd(const SgdConfig& config)
      : MomentumOptimizer(hyperparameters_of(config)), config_(config) {}

  void update(std::span<const ParameterView> parameters, ParameterRange range) override {
    std::vector<Rule> rules;
    for (std::size_t p = range.first; p < range.last; ++p)
      rules.push_back(rule(parameters[p].decays));
    apply(parameters, range, rules);
  }

 private:
  Rule rule(bool decays) const {
    const double learning_rate = this->learning_rate();
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

Hyperparameters hyperparameters_of(const LarsConfig& config) {
  Hyperparameters hyperparameters;
  hyperparameters.name = "lars";
  hyperparameters.momentum = config.momentum;
  hyperparameters.weight_decay = config.weight_decay;
  hyperparameters.epsilon = config.epsilon;
  return hyperparameters;
}

class Lars final : public MomentumOptimizer {
 public:
  explicit Lars(const LarsConfig& config)
      : MomentumOptimizer(hyperparameters_of(config)), config_(config) {}

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    MomentumOptimizer::prepare(parameters, std::move(share));
    previous_learning_rate_ = 0.0F;
  }

  void begin_update(std::span<const ParameterView> parameters, double learning_rate) override {
    MomentumOptimizer::begin_update(parameters, learning_rate);
    correction_ = correction(learning_rate);
    previous_learning_rate_ = static_cast<float>(learning_rate);
  }

  void update(std::span<const ParameterView> parameters, ParameterRange range) override {
    const std::vector<Norms> norm = norms(parameters, range, config_.scope);
    std::vector<Rule> rules;
    for (std::size_t p = range.first; p < range.last; ++p) {
      const bool decays = config_.scope == DecayScope::kAll || parameters[p].decays;
      rules.push_back(rule(decays, norm[p - range.first]));
    }
    apply(parameters, range, rules);
  }

  std::vector<StateView> state() override {
    std::vector<StateView> views = MomentumOptimizer::state();
    if (!views.empty() && config_.variant == LarsVariant::kCorrected) {
      views.push_back({"previous_learning_rate", -1, {&previous_learning_rate_, 1}});
    }
    return views;
  }

  int other_floats() const override { return config_.variant == LarsVariant::kCorrected ? 1 : 0; }

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

  Rule rule(bool decays, const Norms& norm) const {
    const double learning_rate = this->learning_rate();
    const double ratio = decays ? trust(norm) : 1.0;
    const bool unscaled = config_.variant == LarsVariant::kUnscaled;
    const double rate_of_v = unscaled ? learning_rate : 1.0;
    Rule rule;
    rule.decay = decays ? static_cast<float>(config_.weight_decay) : 0.0F;
    rule.keep_v = static_cast<float>(config_.momentum * correction_);
    rule.into_v = static_cast<float>(unscaled ? ratio : learning_rate * ratio);
    rule.from_v = static_cast<float>(config_.nesterov ? rate_of_v * config_.momentum : rate_of_v);
    rule.from_u = config_.nesterov ? static_cast<float>(learning_rate * ratio) : 0.0F;
    return rule;
  }

  LarsConfig config_;
  float previous_learning_rate_ = 0.0F;
  double correction_ = 1.0;  ///< of the update that was begun last
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const SgdConfig& config) {
  return std::make_unique<Sgd>(config);
}

std::unique_ptr<Optimizer> make_lars(const LarsConfig& config) {
  return std::make_unique<Lars>(config);
}

}  // namespace nn
