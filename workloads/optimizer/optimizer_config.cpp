// Parsing of an "optimizer" section: keys, checks and help texts.
#include "workloads/optimizer/optimizer_config.h"

#include "runner/base/error.h"
#include "workloads/optimizer/divisor_range.h"

namespace nn {
namespace {

enum class Kind { kSgd, kLars, kAdagrad, kLamb, kAdam, kAdamW };

/// The range of a momentum or beta.
base::Check<double> share_range() {
  return {"must be at least 0 and below 1", [](const double& m) { return m >= 0.0 && m < 1.0; }};
}

double parse_weight_decay(const base::ObjectReader& section, double fallback) {
  return section.optional<double>("weight_decay", fallback,
                                  "wd, on the parameters that decay: not on batch norm and biases",
                                  base::not_negative());
}

DecayScope parse_scope(const base::ObjectReader& section, DecayScope fallback) {
  return section.choice<DecayScope>(
      "scope", fallback, {{"all", DecayScope::kAll}, {"weights", DecayScope::kWeights}},
      "tensors that decay and, with lamb and lars, have a trust ratio; weights: all but batch norm "
      "and biases");
}

bool parse_nesterov(const base::ObjectReader& section, double momentum) {
  const bool nesterov =
      section.optional<bool>("nesterov", false, "look ahead along the momentum before stepping");
  if (nesterov && momentum == 0.0) {
    throw base::ConfigError(section.where("nesterov") + ": needs a momentum above 0");
  }
  return nesterov;
}

}  // namespace

SgdConfig parse_sgd(const base::ObjectReader& section, const SgdConfig& usual) {
  SgdConfig sgd = usual;
  sgd.momentum = section.optional<double>("momentum", sgd.momentum,
                                          "share of the last step that is kept", share_range());
  sgd.weight_decay = parse_weight_decay(section, sgd.weight_decay);
  sgd.decay_mode = section.choice<DecayMode>("weight_decay_mode", sgd.decay_mode,
                                             {{"l2", DecayMode::kL2},
                                              {"keras_l2", DecayMode::kKerasL2},
                                              {"decoupled", DecayMode::kDecoupled}},
                                             "l2: g + wd w; keras_l2: g + 2 wd w; "
                                             "decoupled: w -= lr wd w in addition to the step");
  sgd.form = section.choice<MomentumForm>(
      "form", sgd.form, {{"torch", MomentumForm::kTorch}, {"keras", MomentumForm::kKeras}},
      "torch: v = m v + g, w -= lr v; keras: v = m v + lr g, w -= v");
  sgd.nesterov = parse_nesterov(section, sgd.momentum);
  return sgd;
}

LarsConfig parse_lars(const base::ObjectReader& section) {
  LarsConfig lars;
  lars.momentum = section.optional<double>("momentum", lars.momentum,
                                           "share of the last step that is kept", share_range());
  lars.weight_decay = parse_weight_decay(section, lars.weight_decay);
  lars.eta = section.optional<double>("eta", lars.eta, "trust coefficient", base::positive());
  lars.epsilon = section.optional<double>(
      "epsilon", lars.epsilon, "added to the trust ratio's denominator", base::not_negative());
  lars.variant = section.choice<LarsVariant>("variant", lars.variant,
                                             {{"scaled", LarsVariant::kScaled},
                                              {"corrected", LarsVariant::kCorrected},
                                              {"unscaled", LarsVariant::kUnscaled}},
                                             "scaled: v = m v + lr trust u, w -= v; corrected: "
                                             "the same with m lr_t / lr_(t-1); unscaled: "
                                             "v = m v + trust u, w -= lr v");
  lars.nesterov = parse_nesterov(section, lars.momentum);
  lars.scope = parse_scope(section, lars.scope);
  return lars;
}

AdagradConfig parse_adagrad(const base::ObjectReader& section) {
  AdagradConfig adagrad;
  adagrad.weight_decay = parse_weight_decay(section, adagrad.weight_decay);
  adagrad.epsilon = section.optional<double>(
      "epsilon", adagrad.epsilon, "added to the root of the sum of squares", divisor_range());
  return adagrad;
}

namespace {

/// The keys that LAMB and Adam share.
template <class Config>
void parse_moments(const base::ObjectReader& section, Config& config) {
  config.beta1 = section.optional<double>("beta1", config.beta1,
                                          "share of the first moment that is kept", share_range());
  config.beta2 = section.optional<double>("beta2", config.beta2,
                                          "share of the second moment that is kept", share_range());
  config.epsilon = section.optional<double>(
      "epsilon", config.epsilon, "added to the root of the second moment", divisor_range());
  config.weight_decay = section.optional<double>(
      "weight_decay", config.weight_decay, "wd, on the tensors of scope", base::not_negative());
  config.scope = parse_scope(section, config.scope);
}

}  // namespace

LambConfig parse_lamb(const base::ObjectReader& section) {
  LambConfig lamb;
  parse_moments(section, lamb);
  lamb.max_gradient_norm = section.optional<double>(
      "max_gradient_norm", lamb.max_gradient_norm,
      "limit to which the norm of all gradients together is scaled down; 0: no limit",
      base::not_negative());
  lamb.trust = section.choice<LambTrust>(
      "trust", lamb.trust, {{"decayed", LambTrust::kDecayed}, {"always", LambTrust::kAlways}},
      "decayed: the trust ratio is 1 without weight_decay; always: it is not");
  return lamb;
}

AdamConfig parse_adam(const base::ObjectReader& section, AdamDecay decay, double epsilon) {
  AdamConfig adam;
  adam.decay = decay;
  adam.epsilon = epsilon;
  parse_moments(section, adam);
  return adam;
}

std::unique_ptr<Optimizer> make_optimizer(const base::ObjectReader& section,
                                          const SgdConfig& usual_sgd) {
  switch (section.choice<Kind>("name", Kind::kSgd,
                               {{"sgd", Kind::kSgd},
                                {"lars", Kind::kLars},
                                {"adagrad", Kind::kAdagrad},
                                {"lamb", Kind::kLamb},
                                {"adam", Kind::kAdam},
                                {"adamw", Kind::kAdamW}},
                               "how gradients change weights")) {
    case Kind::kLars:
      return make_lars(parse_lars(section));
    case Kind::kAdagrad:
      return make_adagrad(parse_adagrad(section));
    case Kind::kLamb:
      return make_lamb(parse_lamb(section));
    case Kind::kAdam:
      return make_adam(parse_adam(section, AdamDecay::kL2));
    case Kind::kAdamW:
      return make_adam(parse_adam(section, AdamDecay::kDecoupled));
    default:
      return make_sgd(parse_sgd(section, usual_sgd));
  }
}

}  // namespace nn
