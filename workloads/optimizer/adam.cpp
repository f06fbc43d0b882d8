// Adam and AdamW, in one pass over memory.
#include <cmath>

#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/moment_optimizer.h"

namespace nn {
namespace {

/// Coefficients of weight decay in its two forms, one of which is 0.
struct Decay {
  float into_gradient = 0.0F, off_weights = 0.0F;
};

void advance(const MomentRule& rule, const Decay& decay, float rate, std::int64_t count,
             const float* __restrict gradient, float* __restrict weights, float* __restrict m,
             float* __restrict v) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] + decay.into_gradient * weights[i];
    m[i] = rule.keep_m * m[i] + rule.into_m * g;
    v[i] = rule.keep_v * v[i] + rule.into_v * (g * g);
    const float u = rule.unbias_m * m[i] / (std::sqrt(rule.unbias_v * v[i]) + rule.epsilon);
    // The decay is added to the step first: 1 - decay would keep few digits of a small decay.
    weights[i] -= rate * u + decay.off_weights * weights[i];
  }
}

class Adam final : public MomentOptimizer {
 public:
  explicit Adam(const AdamConfig& config)
      : MomentOptimizer(
            moment_hyperparameters(config.decay == AdamDecay::kL2 ? "adam" : "adamw", config)),
        config_(config) {}

  void update(std::span<const ParameterView> parameters, ParameterRange range) override {
    const Decay decaying = decay();
    blocks().for_each(range, [&](const UpdateBlock& block) {
      const ParameterView& parameter = parameters[block.parameter];
      const bool decays = parameter.decays || config_.scope == DecayScope::kAll;
      advance(rule(), decays ? decaying : Decay{}, static_cast<float>(learning_rate()), block.count,
              parameter.gradient + block.begin, parameter.weights + block.begin,
              first_moment(block), second_moment(block));
      update_copies(parameter, block);
    });
  }

 private:
  Decay decay() const {
    const double decay = config_.weight_decay;
    if (config_.decay == AdamDecay::kL2) return {static_cast<float>(decay), 0.0F};
    return {0.0F, static_cast<float>(learning_rate() * decay)};
  }

  const AdamConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const AdamConfig& config) {
  return std::make_unique<Adam>(config);
}

}  // namespace nn
