// Reading and applying of the schedule.
// Hides nothing more.
#include "workloads/cosmoflow/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "runner/base/error.h"

namespace cosmoflow {
namespace {

enum class Scaling { kNone, kLinear, kSqrt };
constexpr std::int64_t kMostEpochs = ScheduleConfig::kMostEpochs;

const std::vector<std::pair<std::string, Decay>>& all_decays() {
  static const std::vector<std::pair<std::string, Decay>> decays = {
      {"step", Decay::kStep},
      {"polynomial", Decay::kPolynomial},
      {"cosine", Decay::kCosine},
      {"htd", Decay::kHyperbolicTangent}};
  return decays;
}

double peak_of(const base::ObjectReader& in, double base, std::int64_t global_batch) {
  const auto scaling = in.choice<Scaling>(
      "scaling", Scaling::kLinear,
      {{"none", Scaling::kNone}, {"linear", Scaling::kLinear}, {"sqrt", Scaling::kSqrt}},
      "how the peak grows with global batch / reference_batch");
  const auto reference = in.optional<std::int64_t>(
      "reference_batch", 64, "global batch whose peak is learning_rate", base::at_least(1));
  const auto peak = in.optional<double>("peak_learning_rate", 0.0,
                                        "rate after warm-up, in place of scaling; 0: by scaling",
                                        base::not_negative());
  if (peak > 0.0) return peak;
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(reference);
  switch (scaling) {
    case Scaling::kLinear:
      return base * ratio;
    case Scaling::kSqrt:
      return base * std::sqrt(ratio);
    default:
      return base;
  }
}

void parse_steps(const base::ObjectReader& in, ScheduleConfig& schedule) {
  schedule.boundaries = in.optional<std::vector<std::int64_t>>(
      "decay_boundary_epochs", {}, "epochs behind whose next one the rate changes");
  schedule.factors =
      in.optional<std::vector<double>>("decay_factors", {}, "of the peak, one for each boundary");
  for (std::size_t i = 0; i < schedule.boundaries.size(); ++i) {
    const std::int64_t boundary = schedule.boundaries[i];
    const std::int64_t before = i == 0 ? 0 : schedule.boundaries[i - 1];
    if (boundary > before && boundary <= kMostEpochs) continue;
    throw base::ConfigError(fmt::format("{}: must rise from above 0, got {}",
                                        in.where("decay_boundary_epochs"), boundary));
  }
  if (schedule.factors.size() != schedule.boundaries.size()) {
    throw base::ConfigError(fmt::format("{}: expected {}, one for each boundary, got {}",
                                        in.where("decay_factors"), schedule.boundaries.size(),
                                        schedule.factors.size()));
  }
  for (const double factor : schedule.factors) {
    if (factor > 0.0 && factor < 1.0) continue;
    throw base::ConfigError(
        fmt::format("{}: must be between 0 and 1, got {}", in.where("decay_factors"), factor));
  }
}

}  // namespace

const char* to_string(Decay decay) {
  for (const auto& [name, value] : all_decays()) {
    if (value == decay) return name.c_str();
  }
  return "";
}

ScheduleConfig parse_schedule(const base::ObjectReader& in, std::int64_t global_batch,
                              std::int64_t epochs) {
  ScheduleConfig schedule;
  schedule.base = in.optional<double>("learning_rate", schedule.base, "rate of the first epoch",
                                      base::positive());
  schedule.peak = peak_of(in, schedule.base, global_batch);
  schedule.warmup_epochs = in.optional<std::int64_t>(
      "warmup_epochs", 0, "from learning_rate to the peak", base::within(0, kMostEpochs));
  schedule.decay = in.choice<Decay>("decay", Decay::kStep, all_decays(),
                                    "shape of the rate after warm-up; htd: hyperbolic tangent");
  if (schedule.decay == Decay::kStep) {
    parse_steps(in, schedule);
    return schedule;
  }
  schedule.decay_epochs = in.optional<std::int64_t>("decay_epochs", epochs, "end of the decay",
                                                    base::within(1, kMostEpochs));
  if (schedule.decay_epochs <= schedule.warmup_epochs) {
    throw base::ConfigError(fmt::format("{}: must end after the {} epochs of warm-up, got {}",
                                        in.where("decay_epochs"), schedule.warmup_epochs,
                                        schedule.decay_epochs));
  }
  schedule.end_factor =
      in.optional<double>("end_factor", 0.0, "of the peak, at the end", base::between(0.0, 1.0));
  if (schedule.decay == Decay::kPolynomial) {
    schedule.power = in.optional<double>("power", 1.0, "exponent of the decay", base::positive());
  }
  return schedule;
}

double ScheduleConfig::learning_rate(std::int64_t epochs_done) const {
  const auto done = static_cast<double>(epochs_done);
  const auto warmup = static_cast<double>(warmup_epochs);
  if (epochs_done < warmup_epochs) return base + done * (peak - base) / warmup;
  if (decay == Decay::kStep) {
    const auto next = std::lower_bound(boundaries.begin(), boundaries.end(), epochs_done);
    if (next == boundaries.begin()) return peak;
    return peak * factors[static_cast<std::size_t>(next - boundaries.begin()) - 1];
  }
  const double t = std::min((done - warmup) / (static_cast<double>(decay_epochs) - warmup), 1.0);
  double share = 0.0;
  if (decay == Decay::kPolynomial) share = std::pow(1.0 - t, power);
  if (decay == Decay::kCosine) share = (1.0 + std::cos(std::numbers::pi * t)) / 2.0;
  if (decay == Decay::kHyperbolicTangent) share = (1.0 - std::tanh(-6.0 + 9.0 * t)) / 2.0;
  return peak * ((1.0 - end_factor) * share + end_factor);
}

}  // namespace cosmoflow
