// Parsing of a "schedule" section, including the conversion of epochs to steps.
#include <cmath>
#include <utility>

#include "runner/base/error.h"
#include "workloads/optimizer/schedule.h"

namespace nn {
namespace {

/// More updates than any run makes, and few enough to count in 64 bits.
constexpr double kMostSteps = 1e15;

/// Parses the section's keys into a ScheduleConfig, in the order in which they depend on each
/// other.
class Parser {
 public:
  Parser(const base::ObjectReader& section, std::int64_t steps_per_epoch, std::int64_t epochs)
      : in_(section), steps_per_epoch_(steps_per_epoch), epochs_(epochs) {}

  ScheduleConfig parse(std::int64_t global_batch) {
    decay_.shape = in_.choice<DecayShape>("name", DecayShape::kConstant,
                                          {{"constant", DecayShape::kConstant},
                                           {"polynomial", DecayShape::kPolynomial},
                                           {"delayed_polynomial", DecayShape::kDelayedPolynomial},
                                           {"step", DecayShape::kStep},
                                           {"cosine", DecayShape::kCosine},
                                           {"one_cycle", DecayShape::kOneCycle}},
                                          "shape of the learning rate after warm-up");
    c_.peak = in_.required<double>("learning_rate", "rate after warm-up; the peak of one_cycle",
                                   base::positive()) *
              parse_scaling(global_batch);
    if (decay_.shape == DecayShape::kOneCycle) {
      parse_one_cycle();
      return c_;
    }
    parse_warmup();
    if (decay_.shape == DecayShape::kDelayedPolynomial) parse_delayed_polynomial();
    if (decay_.shape == DecayShape::kPolynomial) parse_polynomial();
    if (decay_.shape == DecayShape::kCosine) parse_cosine();
    if (decay_.shape == DecayShape::kStep) parse_milestones();
    return c_;
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const std::string& expectation) const {
    throw base::ConfigError(in_.where(key) + ": " + expectation);
  }

  double parse_scaling(std::int64_t global_batch) {
    const auto scaling =
        in_.choice<BatchScaling>("scaling", BatchScaling::kNone, batch_scalings(),
                                 "how learning_rate grows with global batch / reference_batch");
    if (scaling == BatchScaling::kNone) return 1.0;
    const auto reference = in_.required<std::int64_t>(
        "reference_batch", "global batch that learning_rate is meant for", base::at_least(1));
    return batch_factor(scaling, global_batch, reference);
  }

  std::int64_t to_steps(const std::string& key, double epochs) const {
    const double steps = epochs * static_cast<double>(steps_per_epoch_);
    if (steps > kMostSteps) refuse(key, "is more than 1e15 updates");
    return std::llround(steps);
  }

  /// The steps given by either `<what>_steps` or `<what>_epochs`.
  std::int64_t steps_of(const std::string& what, double default_epochs, const std::string& help) {
    const std::string steps = what + "_steps", epochs = what + "_epochs";
    if (!in_.has(steps)) {
      return to_steps(epochs, in_.optional<double>(epochs, default_epochs, help + ", in epochs",
                                                   base::not_negative()));
    }
    if (in_.has(epochs)) refuse(steps, "stands beside " + epochs + "; give one of them");
    return in_.required<std::int64_t>(steps, help + ", in updates", base::at_least(0));
  }

  void parse_warmup() {
    warmup_.length = steps_of("warmup", 0.0, "linear rise to learning_rate");
    if (warmup_.length > to_steps("warmup_epochs", static_cast<double>(epochs_))) {
      refuse(in_.has("warmup_steps") ? "warmup_steps" : "warmup_epochs",
             "is longer than the run's " + std::to_string(epochs_) + " epochs");
    }
    if (warmup_.length == 0 || decay_.shape == DecayShape::kDelayedPolynomial) return;
    warmup_.from = in_.optional<double>("warmup_start_learning_rate", 0.0,
                                        "rate of the first update", base::not_negative());
    check_below_peak("warmup_start_learning_rate", warmup_.from);
  }

  void check_below_peak(const std::string& key, double value) const {
    if (value <= c_.peak) return;
    refuse(key, "must not exceed the scaled learning_rate " + std::to_string(c_.peak) + ", got " +
                    std::to_string(value));
  }

  void parse_end(double fallback) {
    decay_.end = in_.optional<double>("end_learning_rate", fallback, "rate at the end of the decay",
                                      base::not_negative());
    check_below_peak("end_learning_rate", decay_.end);
  }

  /// Reads the updates from the end of warm-up to the end of the decay, plus `extra`. A number
  /// given in steps is taken as it is, the way MLPerf logs it.
  void parse_decay(std::int64_t extra) {
    const auto run = static_cast<double>(epochs_);
    const std::int64_t steps = steps_of("decay", run, "end of the decay");
    decay_.begin = warmup_.length;
    decay_.length = in_.has("decay_steps") ? steps : steps - warmup_.length + extra;
    if (decay_.length < 1) {
      refuse(in_.has("decay_steps") ? "decay_steps" : "decay_epochs",
             "must end after warm-up, which takes " + std::to_string(warmup_.length) + " updates");
    }
  }

  void parse_polynomial() {
    parse_end(1e-4);
    decay_.power =
        in_.optional<double>("power", decay_.power, "exponent of the decay", base::positive());
    if (!in_.optional<bool>("decay_from_start", false,
                            "the decay counts from the first update, so that the rate falls at "
                            "once where warm-up ends, as in Caffe")) {
      return parse_decay(1);
    }
    warmup_.rise = Rise::kBefore;
    const std::int64_t warmup = std::exchange(warmup_.length, 0);
    parse_decay(0);
    warmup_.length = warmup;
    if (decay_.length <= warmup) {
      refuse(in_.has("decay_steps") ? "decay_steps" : "decay_epochs",
             "must end after warm-up, which takes " + std::to_string(warmup) + " updates");
    }
  }

  void parse_delayed_polynomial() {
    warmup_.rise = Rise::kCounted;
    parse_end(1e-7);
    decay_.power =
        in_.optional<double>("power", decay_.power, "exponent of the decay", base::positive());
    decay_.length = in_.required<std::int64_t>(
        "decay_steps", "updates that the decay takes; 0: none", base::at_least(0));
    if (decay_.length == 0) return;
    decay_.begin = in_.required<std::int64_t>(
        "decay_start_step", "update that begins the decay, the first being 1", base::at_least(1));
    if (decay_.begin < warmup_.length) {
      refuse("decay_start_step", "must not lie within warm-up, which takes " +
                                     std::to_string(warmup_.length) + " updates, got " +
                                     std::to_string(decay_.begin));
    }
  }

  void parse_cosine() {
    parse_end(0.0);
    parse_decay(0);
  }

  void parse_milestones() {
    decay_.factor = in_.optional<double>("factor", decay_.factor,
                                         "multiplies the rate at each milestone", base::positive());
    const auto epochs = in_.required<std::vector<double>>(
        "milestone_epochs", "epochs after which the rate changes, rising");
    for (const double epoch : epochs) {
      const std::int64_t step = to_steps("milestone_epochs", epoch);
      if (step <= (decay_.milestones.empty() ? 0 : decay_.milestones.back())) {
        refuse("milestone_epochs", "must rise from above 0, got " + std::to_string(epoch));
      }
      if (step < warmup_.length) {
        refuse("milestone_epochs", "must not lie within warm-up, got " + std::to_string(epoch));
      }
      decay_.milestones.push_back(step);
    }
  }

  void parse_one_cycle() {
    const base::Check<double> at_least_one{"must be at least 1",
                                           [](const double& v) { return v >= 1.0; }};
    const double div = in_.optional<double>("div_factor", 25.0,
                                            "first rate is learning_rate over this", at_least_one);
    const double final_div = in_.optional<double>("final_div_factor", 1e4,
                                                  "last rate is the first over this", at_least_one);
    decay_.peak_at = in_.optional<double>("peak_at", decay_.peak_at,
                                          "share of the steps that rises", base::between(0.0, 1.0));
    decay_.anneal = in_.choice<Anneal>("anneal", Anneal::kCosine,
                                       {{"linear", Anneal::kLinear}, {"cosine", Anneal::kCosine}},
                                       "the way down");
    warmup_.from = c_.peak / div;
    decay_.end = warmup_.from / final_div;
    parse_decay(0);
  }

  const base::ObjectReader& in_;
  std::int64_t steps_per_epoch_;
  std::int64_t epochs_;
  ScheduleConfig c_;
  Warmup& warmup_ = c_.warmup;
  Decay& decay_ = c_.decay;
};

}  // namespace

const std::vector<std::pair<std::string, BatchScaling>>& batch_scalings() {
  static const std::vector<std::pair<std::string, BatchScaling>> scalings = {
      {"none", BatchScaling::kNone},
      {"linear", BatchScaling::kLinear},
      {"sqrt", BatchScaling::kSqrt}};
  return scalings;
}

double batch_factor(BatchScaling scaling, std::int64_t batch, std::int64_t reference) {
  if (scaling == BatchScaling::kNone) return 1.0;
  const double ratio = static_cast<double>(batch) / static_cast<double>(reference);
  return scaling == BatchScaling::kLinear ? ratio : std::sqrt(ratio);
}

std::vector<std::int64_t> parse_rising(const base::ObjectReader& in, const std::string& key,
                                       std::int64_t most, const std::string& help) {
  auto values = in.optional<std::vector<std::int64_t>>(key, {}, help);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t before = i == 0 ? 0 : values[i - 1];
    if (values[i] > before && values[i] <= most) continue;
    throw base::ConfigError(in.where(key) + ": must rise from above 0, got " +
                            std::to_string(values[i]));
  }
  return values;
}

Schedule parse_schedule(const base::ObjectReader& section, std::int64_t global_batch,
                        std::int64_t steps_per_epoch, std::int64_t epochs) {
  if (steps_per_epoch < 1) {
    throw base::ConfigError(section.where() + ": an epoch has no whole step; the global batch " +
                            std::to_string(global_batch) + " exceeds the training samples");
  }
  return Schedule(Parser(section, steps_per_epoch, epochs).parse(global_batch));
}

}  // namespace nn
