// SGD with momentum, and LARS in its three variants.
#pragma once

#include <memory>

#include "workloads/optimizer/optimizer.h"

namespace nn {

/// Where LARS applies lr. scaled: v = m v + lr trust u, w -= v (the MLPerf reference). corrected:
/// the same with m lr_t / lr_(t-1). unscaled: v = m v + trust u, w -= lr v.
enum class LarsVariant { kScaled, kCorrected, kUnscaled };

struct SgdConfig {
  double momentum = 0.9;
  double weight_decay = 0.0;
  DecayMode decay_mode = DecayMode::kL2;
  MomentumForm form = MomentumForm::kTorch;
  bool nesterov = false;
};

/// trust = eta ||w|| / (||g|| + wd ||w|| + epsilon), 1 when either norm is 0; u = g + wd w. Tensors
/// outside of the scope have trust 1 and wd 0.
/// Source: You, Gitman, Ginsburg, arXiv:1708.03888; momentum forms: arXiv:1909.09756, section 3.
struct LarsConfig {
  double momentum = 0.9;
  double weight_decay = 0.0;
  double eta = 0.001;
  double epsilon = 0.0;
  LarsVariant variant = LarsVariant::kScaled;
  bool nesterov = false;
  DecayScope scope = DecayScope::kWeights;
};

std::unique_ptr<Optimizer> make_sgd(const SgdConfig& config);
std::unique_ptr<Optimizer> make_lars(const LarsConfig& config);

}  // namespace nn
