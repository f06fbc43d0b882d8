// Optimizers that scale every weight's step by the squares of its gradients: Adagrad, Adam, LAMB.
#pragma once

#include <memory>

#include "workloads/optimizer/optimizer.h"

namespace nn {

/// g = gradient + wd w; h += g^2; w -= lr g / (sqrt(h) + epsilon), with h = 0 at first. Source:
/// Duchi, Hazan, Singer, JMLR 12 (2011), with epsilon added as in PyTorch.
struct AdagradConfig {
  double weight_decay = 0.0;
  double epsilon = 1e-8;
};

/// decayed: the trust ratio is 1 if weight decay is 0. always: it is ||w|| / ||u|| then, too.
enum class LambTrust { kDecayed, kAlways };

/// g = gradient / max(1, N / max_gradient_norm), N the norm of all gradients together;
/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) + wd w, t = 1 at the first step;
/// w -= lr ratio u, ratio = ||w|| / ||u|| of the tensor, 1 when either norm is 0.
/// Source: You et al., arXiv:1904.00962, with the limit on the norm from Apex's FusedLAMB.
struct LambConfig {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  double max_gradient_norm = 1.0;  ///< 0: no limit
  DecayScope scope = DecayScope::kAll;
  LambTrust trust = LambTrust::kDecayed;
};

/// l2: wd w is added to the gradient. decoupled: lr wd w is subtracted from the weights (AdamW).
enum class AdamDecay { kL2, kDecoupled };

/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
/// u = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), t = 1 at the first step;
/// w -= lr u. Source: Kingma and Ba, arXiv:1412.6980; Loshchilov and Hutter, arXiv:1711.05101.
struct AdamConfig {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  AdamDecay decay = AdamDecay::kL2;
  DecayScope scope = DecayScope::kAll;
};

/// State: "squares/<parameter>".
std::unique_ptr<Optimizer> make_adagrad(const AdagradConfig& config);
/// State: "first_moment/<parameter>", "second_moment/<parameter>", "updates".
std::unique_ptr<Optimizer> make_lamb(const LambConfig& config);
/// State as LAMB's.
std::unique_ptr<Optimizer> make_adam(const AdamConfig& config);

}  // namespace nn
