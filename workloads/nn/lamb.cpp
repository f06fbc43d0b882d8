// LAMB in three passes: the norm of all gradients, the moments with the norms of every tensor, the
// step. Hides them, and the count of updates.
#include <array>
#include <cmath>
#include <utility>

#include "workloads/nn/adaptive_optimizers.h"
#include "workloads/nn/update_blocks.h"

namespace nn {
namespace {

/// One step: what becomes of gradients and moments. Decay differs by tensor.
struct Rule {
  float scale;  ///< of gradients
  float keep_m, into_m, keep_v, into_v;
  float unbias_m, unbias_v, epsilon;
};

void advance(const Rule& rule, std::int64_t count, const float* __restrict gradient,
             float* __restrict m, float* __restrict v) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = rule.scale * gradient[i];
    m[i] = rule.keep_m * m[i] + rule.into_m * g;
    v[i] = rule.keep_v * v[i] + rule.into_v * (g * g);
  }
}

/// u of a block.
using Direction = std::array<float, kUpdateCell>;

void find_direction(const Rule& rule, float decay, std::int64_t count, const float* __restrict w,
                    const float* __restrict m, const float* __restrict v, Direction& direction) {
  float* __restrict u = direction.data();
  for (std::int64_t i = 0; i < count; ++i) {
    const float adapted = rule.unbias_m * m[i] / (std::sqrt(rule.unbias_v * v[i]) + rule.epsilon);
    u[i] = adapted + decay * w[i];
  }
}

class Lamb final : public Optimizer {
 public:
  explicit Lamb(const LambConfig& config) : config_(config) {
    hyperparameters_.name = "lamb";
    hyperparameters_.weight_decay = config.weight_decay;
    hyperparameters_.epsilon = config.epsilon;
    hyperparameters_.beta1 = config.beta1;
    hyperparameters_.beta2 = config.beta2;
    hyperparameters_.max_gradient_norm = config.max_gradient_norm;
  }

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    blocks_.prepare(parameters, std::move(share), {"first_moment", "second_moment"});
    updates_ = 0.0F;
  }

  void step(std::span<const ParameterView> parameters, double learning_rate) override {
    if (!blocks_.is_prepared()) prepare(parameters, {});
    blocks_.require_same(parameters);
    updates_ += 1.0F;
    const Rule rule = rule_now(gradient_scale(parameters));
    const std::vector<float> rates = rates_of(parameters, rule, learning_rate);
    blocks_.for_each([&](const UpdateBlock& block) {
      const ParameterView& parameter = parameters[block.parameter];
      const float rate = rates[block.parameter];
      Direction u;
      direction_of(rule, parameter, block, u);
      float* weights = parameter.weights + block.begin;
      for (std::int64_t i = 0; i < block.count; ++i) {
        weights[i] -= rate * u[static_cast<std::size_t>(i)];
      }
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
  bool adapts(const ParameterView& parameter) const {
    return config_.scope == DecayScope::kAll || parameter.decays;
  }

  double gradient_scale(std::span<const ParameterView> parameters) const {
    if (config_.max_gradient_norm == 0.0) return 1.0;
    const auto squares = blocks_.sums<1>([&](const UpdateBlock& block) -> std::array<double, 1> {
      return {sum_of_squares(parameters[block.parameter].gradient + block.begin, block.count)};
    });
    double sum = 0.0;
    for (const auto& [of_tensor] : squares) sum += of_tensor;
    const double norm = std::sqrt(sum);
    return norm > config_.max_gradient_norm ? config_.max_gradient_norm / norm : 1.0;
  }

  Rule rule_now(double scale) const {
    const auto t = static_cast<double>(updates_);
    return {static_cast<float>(scale),
            static_cast<float>(config_.beta1),
            static_cast<float>(1.0 - config_.beta1),
            static_cast<float>(config_.beta2),
            static_cast<float>(1.0 - config_.beta2),
            static_cast<float>(1.0 / (1.0 - std::pow(config_.beta1, t))),
            static_cast<float>(1.0 / (1.0 - std::pow(config_.beta2, t))),
            static_cast<float>(config_.epsilon)};
  }

  void direction_of(const Rule& rule, const ParameterView& parameter, const UpdateBlock& block,
                    Direction& u) const {
    const double decay = adapts(parameter) ? config_.weight_decay : 0.0;
    find_direction(rule, static_cast<float>(decay), block.count, parameter.weights + block.begin,
                   blocks_.buffer(0, block), blocks_.buffer(1, block), u);
  }

  /// Advances the moments, and gives lr ratio of every tensor.
  std::vector<float> rates_of(std::span<const ParameterView> parameters, const Rule& rule,
                              double learning_rate) const {
    const auto squares = blocks_.sums<2>([&](const UpdateBlock& block) -> std::array<double, 2> {
      const ParameterView& parameter = parameters[block.parameter];
      advance(rule, block.count, parameter.gradient + block.begin, blocks_.buffer(0, block),
              blocks_.buffer(1, block));
      if (!has_trust(parameter)) return {};
      Direction u;
      direction_of(rule, parameter, block, u);
      return {sum_of_squares(parameter.weights + block.begin, block.count),
              sum_of_squares(u.data(), block.count)};
    });
    std::vector<float> rates;
    for (const auto& [weights, direction] : squares) {
      const bool is_ratio = weights != 0.0 && direction != 0.0;
      const double ratio = is_ratio ? std::sqrt(weights) / std::sqrt(direction) : 1.0;
      rates.push_back(static_cast<float>(learning_rate * ratio));
    }
    return rates;
  }

  bool has_trust(const ParameterView& parameter) const {
    const bool decays = config_.weight_decay != 0.0 || config_.trust == LambTrust::kAlways;
    return decays && adapts(parameter);
  }

  LambConfig config_;
  Hyperparameters hyperparameters_;
  UpdateBlocks blocks_;
  /// A float, as all state. It stops counting at 2^24, when 1 - beta^t has long been 1.
  float updates_ = 0.0F;
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const LambConfig& config) {
  return std::make_unique<Lamb>(config);
}

}  // namespace nn
