// Base of optimizers with two moments of the gradient (Adam, LAMB): the moments, and the count of
// updates that corrects their bias.
#pragma once

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/update_blocks.h"

namespace nn {

/// The update of moments by a gradient g, m = keep_m m + into_m g, v = keep_v v + into_v g^2, and
/// the factors unbias_m, unbias_v that correct their bias.
struct MomentRule {
  float keep_m, into_m, keep_v, into_v;
  float unbias_m, unbias_v, epsilon;
};

class MomentOptimizer : public Optimizer {
 public:
  explicit MomentOptimizer(Hyperparameters hyperparameters)
      : hyperparameters_(std::move(hyperparameters)) {}

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    blocks_.prepare(parameters, std::move(share), {"first_moment", "second_moment"});
    updates_ = 0.0F;
  }
  /// Counts one more update. Prepares the parameters if nobody did.
  void begin_update(std::span<const ParameterView> parameters, double learning_rate) override {
    if (!blocks_.is_prepared()) prepare(parameters, {});
    blocks_.require_same(parameters);
    updates_ += 1.0F;
    learning_rate_ = learning_rate;
    const auto t = static_cast<double>(updates_);
    rule_ = {static_cast<float>(hyperparameters_.beta1),
             static_cast<float>(1.0 - hyperparameters_.beta1),
             static_cast<float>(hyperparameters_.beta2),
             static_cast<float>(1.0 - hyperparameters_.beta2),
             static_cast<float>(1.0 / (1.0 - std::pow(hyperparameters_.beta1, t))),
             static_cast<float>(1.0 / (1.0 - std::pow(hyperparameters_.beta2, t))),
             static_cast<float>(hyperparameters_.epsilon)};
  }
  std::vector<StateView> state() override {
    std::vector<StateView> views = blocks_.state();
    if (!views.empty()) views.push_back({"updates", -1, {&updates_, 1}});
    return views;
  }
  int buffers() const override { return 2; }
  int other_floats() const override { return 1; }
  const Hyperparameters& hyperparameters() const override { return hyperparameters_; }

 protected:
  const UpdateBlocks& blocks() const { return blocks_; }
  /// Of the update that was begun last.
  const MomentRule& rule() const { return rule_; }
  double learning_rate() const { return learning_rate_; }
  float* first_moment(const UpdateBlock& block) const { return blocks_.buffer(0, block); }
  float* second_moment(const UpdateBlock& block) const { return blocks_.buffer(1, block); }

 private:
  const Hyperparameters hyperparameters_;
  UpdateBlocks blocks_;
  /// A float, as all state. It stops counting at 2^24, when 1 - beta^t has long been 1.
  float updates_ = 0.0F;
  MomentRule rule_ = {};
  double learning_rate_ = 0.0;
};

/// The hyperparameters that LAMB and Adam share.
template <class Config>
Hyperparameters moment_hyperparameters(const char* name, const Config& config) {
  Hyperparameters hyperparameters;
  hyperparameters.name = name;
  hyperparameters.weight_decay = config.weight_decay;
  hyperparameters.epsilon = config.epsilon;
  hyperparameters.beta1 = config.beta1;
  hyperparameters.beta2 = config.beta2;
  return hyperparameters;
}

}  // namespace nn
