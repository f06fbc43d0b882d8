// LAMB in three passes over memory: the norm of all gradients; the moments and the norms of every
// tensor; the step.
#include <array>
#include <cmath>

#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/moment_optimizer.h"

namespace nn {
namespace {

/// Updates the moments by gradients times `scale`.
void advance(const MomentRule& rule, float scale, std::int64_t count,
             const float* __restrict gradient, float* __restrict m, float* __restrict v) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = scale * gradient[i];
    m[i] = rule.keep_m * m[i] + rule.into_m * g;
    v[i] = rule.keep_v * v[i] + rule.into_v * (g * g);
  }
}

/// u of a block (see LambConfig).
using Direction = std::array<float, kUpdateCell>;

void find_direction(const MomentRule& rule, float decay, std::int64_t count,
                    const float* __restrict w, const float* __restrict m, const float* __restrict v,
                    Direction& direction) {
  float* __restrict u = direction.data();
  for (std::int64_t i = 0; i < count; ++i) {
    const float adapted = rule.unbias_m * m[i] / (std::sqrt(rule.unbias_v * v[i]) + rule.epsilon);
    u[i] = adapted + decay * w[i];
  }
}

Hyperparameters moment_hyperparameters(const LambConfig& config) {
  Hyperparameters hyperparameters = moment_hyperparameters("lamb", config);
  hyperparameters.max_gradient_norm = config.max_gradient_norm;
  return hyperparameters;
}

class Lamb final : public MomentOptimizer {
 public:
  explicit Lamb(const LambConfig& config)
      : MomentOptimizer(moment_hyperparameters(config)), config_(config) {}

  void begin_update(std::span<const ParameterView> parameters, double learning_rate) override {
    MomentOptimizer::begin_update(parameters, learning_rate);
    scale_ = static_cast<float>(gradient_scale(parameters));
  }

  void update(std::span<const ParameterView> parameters, ParameterRange range) override {
    const std::vector<float> rates = rates_of(parameters, range);
    blocks().for_each(range, [&](const UpdateBlock& block) {
      const ParameterView& parameter = parameters[block.parameter];
      const float rate = rates[block.parameter - range.first];
      Direction u;
      direction_of(parameter, block, u);
      float* weights = parameter.weights + block.begin;
      for (std::int64_t i = 0; i < block.count; ++i) {
        weights[i] -= rate * u[static_cast<std::size_t>(i)];
      }
      update_copies(parameter, block);
    });
  }

  bool needs_all_gradients() const override { return config_.max_gradient_norm != 0.0; }

 private:
  bool adapts(const ParameterView& parameter) const {
    return config_.scope == DecayScope::kAll || parameter.decays;
  }

  double gradient_scale(std::span<const ParameterView> parameters) const {
    if (config_.max_gradient_norm == 0.0) return 1.0;
    const auto squares =
        blocks().sums<1>(blocks().all(), [&](const UpdateBlock& block) -> std::array<double, 1> {
          return {sum_of_squares(parameters[block.parameter].gradient + block.begin, block.count)};
        });
    double sum = 0.0;
    for (const auto& [of_tensor] : squares) sum += of_tensor;
    const double norm = std::sqrt(sum);
    return norm > config_.max_gradient_norm ? config_.max_gradient_norm / norm : 1.0;
  }

  void direction_of(const ParameterView& parameter, const UpdateBlock& block, Direction& u) const {
    const double decay = adapts(parameter) ? config_.weight_decay : 0.0;
    find_direction(rule(), static_cast<float>(decay), block.count, parameter.weights + block.begin,
                   first_moment(block), second_moment(block), u);
  }

  /// Updates the moments of a range and returns lr * ratio for each of its tensors.
  std::vector<float> rates_of(std::span<const ParameterView> parameters,
                              ParameterRange range) const {
    const auto squares =
        blocks().sums<2>(range, [&](const UpdateBlock& block) -> std::array<double, 2> {
          const ParameterView& parameter = parameters[block.parameter];
          advance(rule(), scale_, block.count, parameter.gradient + block.begin,
                  first_moment(block), second_moment(block));
          if (!has_trust(parameter)) return {};
          Direction u;
          direction_of(parameter, block, u);
          return {sum_of_squares(parameter.weights + block.begin, block.count),
                  sum_of_squares(u.data(), block.count)};
        });
    std::vector<float> rates;
    for (const auto& [weights, direction] : squares) {
      const bool is_ratio = weights != 0.0 && direction != 0.0;
      const double ratio = is_ratio ? std::sqrt(weights) / std::sqrt(direction) : 1.0;
      rates.push_back(static_cast<float>(learning_rate() * ratio));
    }
    return rates;
  }

  bool has_trust(const ParameterView& parameter) const {
    const bool decays = config_.weight_decay != 0.0 || config_.trust == LambTrust::kAlways;
    return decays && adapts(parameter);
  }

  const LambConfig config_;
  float scale_ = 1.0F;  ///< of the gradients of the update that was begun last
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const LambConfig& config) {
  return std::make_unique<Lamb>(config);
}

}  // namespace nn
