// The keys of an "optimizer" section.
// Hides their names, checks and help texts.
#include "runner/base/error.h"
#include "workloads/nn/optimizer.h"

namespace nn {
namespace {

base::Check<double> momentum_range() {
  return {"must be at least 0 and below 1", [](const double& m) { return m >= 0.0 && m < 1.0; }};
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

SgdConfig parse_sgd(const base::ObjectReader& section) {
  SgdConfig sgd;
  sgd.momentum = section.optional<double>("momentum", sgd.momentum,
                                          "share of the last step that is kept", momentum_range());
  sgd.weight_decay =
      section.optional<double>("weight_decay", sgd.weight_decay,
                               "wd, on all but batch norm and biases", base::not_negative());
  sgd.decay_mode = section.choice<DecayMode>("weight_decay_mode", sgd.decay_mode,
                                             {{"l2", DecayMode::kL2},
                                              {"keras_l2", DecayMode::kKerasL2},
                                              {"decoupled", DecayMode::kDecoupled}},
                                             "l2: g + wd w; keras_l2: g + 2 wd w; "
                                             "decoupled: w -= lr wd w beside the step");
  sgd.form = section.choice<MomentumForm>(
      "form", sgd.form, {{"torch", MomentumForm::kTorch}, {"keras", MomentumForm::kKeras}},
      "torch: v = m v + g, w -= lr v; keras: v = m v + lr g, w -= v");
  sgd.nesterov = parse_nesterov(section, sgd.momentum);
  return sgd;
}

LarsConfig parse_lars(const base::ObjectReader& section) {
  LarsConfig lars;
  lars.momentum = section.optional<double>("momentum", lars.momentum,
                                           "share of the last step that is kept", momentum_range());
  lars.weight_decay =
      section.optional<double>("weight_decay", lars.weight_decay,
                               "wd, on all but batch norm and biases", base::not_negative());
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
  return lars;
}

std::unique_ptr<Optimizer> make_optimizer(const base::ObjectReader& section) {
  const bool lars = section.choice<bool>("name", false, {{"sgd", false}, {"lars", true}},
                                         "how gradients change weights");
  return lars ? make_lars(parse_lars(section)) : make_sgd(parse_sgd(section));
}

}  // namespace nn
