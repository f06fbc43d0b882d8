// Adam and AdamW, in one pass over memory.
// Hides the count of updates.
#include <cmath>
#include <utility>

#include "workloads/nn/adaptive_optimizers.h"
#include "workloads/nn/update_blocks.h"

namespace nn {
namespace {

struct Rule {
  float rate, into_gradient, keep_weights;  ///< decay, in one of its two forms
  float keep_m, into_m, keep_v, into_v;
  float unbias_m, unbias_v, epsilon;
};

void update(const Rule& rule, std::int64_t count, const float* __restrict gradient,
            float* __restrict weights, float* __restrict m, float* __restrict v) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] + rule.into_gradient * weights[i];
    m[i] = rule.keep_m * m[i] + rule.into_m * g;
    v[i] = rule.keep_v * v[i] + rule.into_v * (g * g);
    const float u = rule.unbias_m * m[i] / (std::sqrt(rule.unbias_v * v[i]) + rule.epsilon);
    weights[i] = rule.keep_weights * weights[i] - rule.rate * u;
  }
}

class Adam final : public Optimizer {
 public:
  explicit Adam(const AdamConfig& config) : config_(config) {
    hyperparameters_.name = config.decay == AdamDecay::kL2 ? "adam" : "adamw";
    hyperparameters_.weight_decay = config.weight_decay;
    hyperparameters_.epsilon = config.epsilon;
    hyperparameters_.beta1 = config.beta1;
    hyperparameters_.beta2 = config.beta2;
  }

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    blocks_.prepare(parameters, std::move(share), {"first_moment", "second_moment"});
    updates_ = 0.0F;
  }

  void step(std::span<const ParameterView> parameters, double learning_rate) override {
    if (!blocks_.is_prepared()) prepare(parameters, {});
    blocks_.require_same(parameters);
    updates_ += 1.0F;
    const Rule decaying = rule_now(learning_rate, config_.weight_decay);
    const Rule plain = rule_now(learning_rate, 0.0);
    blocks_.for_each([&](const UpdateBlock& block) {
      const ParameterView& parameter = parameters[block.parameter];
      const bool decays = parameter.decays || config_.scope == DecayScope::kAll;
      update(decays ? decaying : plain, block.count, parameter.gradient + block.begin,
             parameter.weights + block.begin, blocks_.buffer(0, block), blocks_.buffer(1, block));
      update_copies(parameter, block);
    });
  }

  std::vector<StateView> state() override {
    std::vector<StateView> views = blocks_.state();
    if (!views.empty()) views.push_back({"updates", -1, {&updates_, 1}});
    return views;
  }
  int buffers() const override { return 2; }
  int other_floats() const override { return 1; }
  const Hyperparameters& hyperparameters() const override { return hyperparameters_; }

 private:
  Rule rule_now(double learning_rate, double decay) const {
    const auto t = static_cast<double>(updates_);
    const bool decoupled = config_.decay == AdamDecay::kDecoupled;
    Rule rule{};
    rule.rate = static_cast<float>(learning_rate);
    rule.into_gradient = decoupled ? 0.0F : static_cast<float>(decay);
    rule.keep_weights = decoupled ? static_cast<float>(1.0 - learning_rate * decay) : 1.0F;
    rule.keep_m = static_cast<float>(config_.beta1);
    rule.into_m = static_cast<float>(1.0 - config_.beta1);
    rule.keep_v = static_cast<float>(config_.beta2);
    rule.into_v = static_cast<float>(1.0 - config_.beta2);
    rule.unbias_m = static_cast<float>(1.0 / (1.0 - std::pow(config_.beta1, t)));
    rule.unbias_v = static_cast<float>(1.0 / (1.0 - std::pow(config_.beta2, t)));
    rule.epsilon = static_cast<float>(config_.epsilon);
    return rule;
  }

  AdamConfig config_;
  Hyperparameters hyperparameters_;
  UpdateBlocks blocks_;
  /// A float, as all state. It stops counting at 2^24, when 1 - beta^t has long been 1.
  float updates_ = 0.0F;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const AdamConfig& config) {
  return std::make_unique<Adam>(config);
}

}  // namespace nn
