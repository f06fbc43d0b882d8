// The keys of a "schedule" section.
// Hides how epochs become steps and which keys belong to which shape.
#include <cmath>

#include "runner/base/error.h"
#include "workloads/optimizer/schedule.h"

namespace nn {
namespace {

/// More updates than any run makes, and few enough to count with.
constexpr double kMostSteps = 1e15;

/// Turns the section's keys into a ScheduleConfig, in the order in which they depend on each other.
class Parser {
 public:
  Parser(const base::ObjectReader& section, std::int64_t steps_per_epoch, std::int64_t epochs)
      : in_(section), steps_per_epoch_(steps_per_epoch), epochs_(epochs) {}

  ScheduleConfig parse(std::int64_t global_batch) {
    c_.shape = in_.choice<ScheduleShape>("name", ScheduleShape::kConstant,
                                         {{"constant", ScheduleShape::kConstant},
                                          {"polynomial", ScheduleShape::kPolynomial},
                                          {"delayed_polynomial", ScheduleShape::kDelayedPolynomial},
                                          {"step", ScheduleShape::kStep},
                                          {"cosine", ScheduleShape::kCosine},
                                          {"one_cycle", ScheduleShape::kOneCycle}},
                                         "shape of the learning rate after warm-up");
    c_.base_learning_rate =
        in_.required<double>("learning_rate", "rate after warm-up; the peak of one_cycle",
                             base::positive()) *
        batch_factor(global_batch);
    if (c_.shape == ScheduleShape::kOneCycle) {
      parse_one_cycle();
      return c_;
    }
    parse_warmup();
    if (c_.shape == ScheduleShape::kDelayedPolynomial) parse_delayed_polynomial();
    if (c_.shape == ScheduleShape::kPolynomial) parse_polynomial();
    if (c_.shape == ScheduleShape::kCosine) parse_cosine();
    if (c_.shape == ScheduleShape::kStep) parse_milestones();
    return c_;
  }

 private:
  enum class Scaling { kNone, kLinear, kSqrt };

  [[noreturn]] void refuse(const std::string& key, const std::string& expectation) const {
    throw base::ConfigError(in_.where(key) + ": " + expectation);
  }

  double batch_factor(std::int64_t global_batch) {
    const auto scaling = in_.choice<Scaling>(
        "scaling", Scaling::kNone,
        {{"none", Scaling::kNone}, {"linear", Scaling::kLinear}, {"sqrt", Scaling::kSqrt}},
        "how learning_rate grows with global batch / reference_batch");
    if (scaling == Scaling::kNone) return 1.0;
    const auto reference = in_.required<std::int64_t>(
        "reference_batch", "global batch that learning_rate is meant for", base::at_least(1));
    const double ratio = static_cast<double>(global_batch) / static_cast<double>(reference);
    return scaling == Scaling::kLinear ? ratio : std::sqrt(ratio);
  }

  std::int64_t to_steps(const std::string& key, double epochs) const {
    const double steps = epochs * static_cast<double>(steps_per_epoch_);
    if (steps > kMostSteps) refuse(key, "is more than 1e15 updates");
    return std::llround(steps);
  }

  /// The steps that either `<what>_steps` or `<what>_epochs` gives.
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
    c_.warmup_steps = steps_of("warmup", 0.0, "linear rise to learning_rate");
    if (c_.warmup_steps > to_steps("warmup_epochs", static_cast<double>(epochs_))) {
      refuse(in_.has("warmup_steps") ? "warmup_steps" : "warmup_epochs",
             "is longer than the run's " + std::to_string(epochs_) + " epochs");
    }
    if (c_.warmup_steps == 0 || c_.shape == ScheduleShape::kDelayedPolynomial) return;
    c_.warmup_start_learning_rate = in_.optional<double>(
        "warmup_start_learning_rate", 0.0, "rate of the first update", base::not_negative());
    check_below_base("warmup_start_learning_rate", c_.warmup_start_learning_rate);
  }

  void check_below_base(const std::string& key, double value) const {
    if (value <= c_.base_learning_rate) return;
    refuse(key, "must not exceed the scaled learning_rate " +
                    std::to_string(c_.base_learning_rate) + ", got " + std::to_string(value));
  }

  void parse_end(double fallback) {
    c_.end_learning_rate = in_.optional<double>(
        "end_learning_rate", fallback, "rate at the end of the decay", base::not_negative());
    check_below_base("end_learning_rate", c_.end_learning_rate);
  }

  /// Updates from the end of warm-up to the end of the decay, and `extra` more. A given number of
  /// steps is meant as it is, the way MLPerf logs it.
  void parse_decay(std::int64_t extra) {
    const auto run = static_cast<double>(epochs_);
    const std::int64_t steps = steps_of("decay", run, "end of the decay");
    c_.decay_steps = in_.has("decay_steps") ? steps : steps - c_.warmup_steps + extra;
    if (c_.decay_steps < 1) {
      refuse(in_.has("decay_steps") ? "decay_steps" : "decay_epochs",
             "must end after warm-up, which takes " + std::to_string(c_.warmup_steps) + " updates");
    }
  }

  void parse_polynomial() {
    parse_end(1e-4);
    c_.power = in_.optional<double>("power", c_.power, "exponent of the decay", base::positive());
    parse_decay(1);
  }

  void parse_delayed_polynomial() {
    parse_end(1e-7);
    c_.power = in_.optional<double>("power", c_.power, "exponent of the decay", base::positive());
    c_.decay_steps = in_.required<std::int64_t>(
        "decay_steps", "updates that the decay takes; 0: none", base::at_least(0));
    if (c_.decay_steps == 0) return;
    c_.decay_start_step = in_.required<std::int64_t>(
        "decay_start_step", "update that begins the decay, the first being 1", base::at_least(1));
    if (c_.decay_start_step < c_.warmup_steps) {
      refuse("decay_start_step", "must not lie within warm-up, which takes " +
                                     std::to_string(c_.warmup_steps) + " updates, got " +
                                     std::to_string(c_.decay_start_step));
    }
  }

  void parse_cosine() {
    parse_end(0.0);
    parse_decay(0);
  }

  void parse_milestones() {
    c_.factor = in_.optional<double>("factor", c_.factor, "multiplies the rate at each milestone",
                                     base::positive());
    const auto epochs = in_.required<std::vector<double>>(
        "milestone_epochs", "epochs after which the rate changes, rising");
    for (const double epoch : epochs) {
      const std::int64_t step = to_steps("milestone_epochs", epoch);
      if (step <= (c_.milestones.empty() ? 0 : c_.milestones.back())) {
        refuse("milestone_epochs", "must rise from above 0, got " + std::to_string(epoch));
      }
      if (step < c_.warmup_steps) {
        refuse("milestone_epochs", "must not lie within warm-up, got " + std::to_string(epoch));
      }
      c_.milestones.push_back(step);
    }
  }

  void parse_one_cycle() {
    const base::Check<double> at_least_one{"must be at least 1",
                                           [](const double& v) { return v >= 1.0; }};
    const double div = in_.optional<double>("div_factor", 25.0,
                                            "first rate is learning_rate over this", at_least_one);
    const double final_div = in_.optional<double>("final_div_factor", 1e4,
                                                  "last rate is the first over this", at_least_one);
    c_.peak_at = in_.optional<double>("peak_at", c_.peak_at, "share of the steps that rises",
                                      base::between(0.0, 1.0));
    c_.anneal = in_.choice<Anneal>("anneal", Anneal::kCosine,
                                   {{"linear", Anneal::kLinear}, {"cosine", Anneal::kCosine}},
                                   "the way down");
    c_.start_learning_rate = c_.base_learning_rate / div;
    c_.end_learning_rate = c_.start_learning_rate / final_div;
    parse_decay(0);
  }

  const base::ObjectReader& in_;
  std::int64_t steps_per_epoch_;
  std::int64_t epochs_;
  ScheduleConfig c_;
};

}  // namespace

Schedule parse_schedule(const base::ObjectReader& section, std::int64_t global_batch,
                        std::int64_t steps_per_epoch, std::int64_t epochs) {
  if (steps_per_epoch < 1) {
    throw base::ConfigError(section.where() + ": an epoch has no whole step; the global batch " +
                            std::to_string(global_batch) + " exceeds the training samples");
  }
  return Schedule(Parser(section, steps_per_epoch, epochs).parse(global_batch));
}

}  // namespace nn
