// Adagrad, in one pass over memory.
#include <cmath>
#include <utility>

#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/update_blocks.h"

namespace nn {
namespace {

struct Rule {
  float rate, decay, epsilon;
};

void advance(const Rule& rule, std::int64_t count, const float* __restrict gradient,
             float* __restrict weights, float* __restrict squares) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] + rule.decay * weights[i];
    const float h = squares[i] + g * g;
    squares[i] = h;
    weights[i] -= rule.rate * g / (std::sqrt(h) + rule.epsilon);
  }
}

class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const AdagradConfig& config) : config_(config) {
    hyperparameters_.name = "adagrad";
    hyperparameters_.weight_decay = config.weight_decay;
    hyperparameters_.epsilon = config.epsilon;
  }

  void prepare(std::span<const ParameterView> parameters, UpdateShare share) override {
    blocks_.prepare(parameters, std::move(share), {"squares"});
  }

  void begin_update(std::span<const ParameterView> parameters, double learning_rate) override {
    if (!blocks_.is_prepared()) prepare(parameters, {});
    blocks_.require_same(parameters);
    rate_ = static_cast<float>(learning_rate);
  }

  void update(std::span<const ParameterView> parameters, ParameterRange range) override {
    const Rule decaying = {rate_, static_cast<float>(config_.weight_decay),
                           static_cast<float>(config_.epsilon)};
    const Rule plain = {decaying.rate, 0.0F, decaying.epsilon};
    blocks_.for_each(range, [&](const UpdateBlock& block) {
      const ParameterView& parameter = parameters[block.parameter];
      advance(parameter.decays ? decaying : plain, block.count, parameter.gradient + block.begin,
              parameter.weights + block.begin, blocks_.buffer(0, block));
      update_copies(parameter, block);
    });
  }

  std::vector<StateView> state() override { return blocks_.state(); }
  int buffers() const override { return 1; }
  const Hyperparameters& hyperparameters() const override { return hyperparameters_; }

 private:
  AdagradConfig config_;
  Hyperparameters hyperparameters_;
  UpdateBlocks blocks_;
  float rate_ = 0.0F;
};

}  // namespace

std::unique_ptr<Optimizer> make_adagrad(const AdagradConfig& config) {
  return std::make_unique<Adagrad>(config);
}

}  // namespace nn
