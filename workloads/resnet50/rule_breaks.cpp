// Comparison of a configuration with the reference.
#include "workloads/resnet50/rule_breaks.h"

#include <fmt/format.h>

#include "workloads/optimizer/momentum_optimizers.h"

namespace resnet50 {
namespace {

/// Collects the differences from the reference.
class Breaks {
 public:
  template <class Value>
  void expect(const char* setting, const Value& wanted, const Value& found) {
    if (found != wanted) {
      list_.push_back(fmt::format("{}: must be {}, got {}", setting, wanted, found));
    }
  }
  void add(std::string text) { list_.push_back(std::move(text)); }
  std::vector<std::string> take() && { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

std::string name_of(images::Style style) {
  for (const auto& [name, one] : images::style_choices()) {
    if (one == style) return name;
  }
  return "unknown";
}

void compare_model(const Config& config, Breaks& breaks) {
  const ModelConfig reference;
  breaks.expect("/model/version", std::string(to_string(reference.version)),
                std::string(to_string(config.model.version)));
  breaks.expect("/model/depth", reference.depth, config.model.depth);
  breaks.expect("/model/width", reference.width, config.model.width);
  breaks.expect("/model/image_size", reference.image_size, config.model.image_size);
  breaks.expect("/model/classes", reference.classes, config.model.classes);
  breaks.expect("/dataset/preprocess", name_of(images::Style::kMlperf),
                name_of(config.images.data.preprocess));
  breaks.expect("/dataset/scaled_decoding", false, config.images.data.scaled_decoding);
  constexpr double kSmoothing = 0.1;
  const double smoothing = config.images.training.label_smoothing;
  if (smoothing != 0.0 && smoothing != kSmoothing) {
    breaks.add(
        fmt::format("/training/label_smoothing: must be 0 or {}, got {}", kSmoothing, smoothing));
  }
}

const char* to_string(nn::LarsVariant variant) {
  switch (variant) {
    case nn::LarsVariant::kCorrected:
      return "corrected";
    case nn::LarsVariant::kUnscaled:
      return "unscaled";
    default:
      return "scaled";
  }
}

void compare_optimizer(const Training& training, Breaks& breaks) {
  if (training.optimizer.name == "sgd") {
    breaks.expect("/optimizer/nesterov", false, training.optimizer.nesterov);
    if (training.optimizer.decay_mode == nn::DecayMode::kDecoupled) {
      breaks.add("/optimizer/weight_decay_mode: must be l2 or keras_l2, got decoupled");
    }
  }
  if (training.lars) {
    const nn::LarsConfig reference;
    const nn::LarsConfig& lars = *training.lars;
    breaks.expect("/optimizer/nesterov", false, lars.nesterov);
    breaks.expect("/optimizer/eta", reference.eta, lars.eta);
    if (lars.scope != reference.scope) breaks.add("/optimizer/scope: must be weights, got all");
    breaks.expect<std::string>("/optimizer/variant", to_string(reference.variant),
                               to_string(lars.variant));
  }
  const nn::Decay& decay = training.schedule.decay;
  if (decay.shape == nn::DecayShape::kPolynomial && decay.begin < training.schedule.warmup.length) {
    breaks.add("/schedule/decay_from_start: must be false, got true");
  }
  // For other shapes, required log keys are missing, so the log itself shows the violation.
  if (training.schedule.decay.shape == nn::DecayShape::kDelayedPolynomial) {
    breaks.add("/schedule/name: must be polynomial, got delayed_polynomial");
  }
}

}  // namespace

std::vector<std::string> closed_rule_breaks(const Config& config, const Training& training) {
  Breaks breaks;
  compare_model(config, breaks);
  compare_optimizer(training, breaks);
  return std::move(breaks).take();
}

}  // namespace resnet50
