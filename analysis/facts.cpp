// Facts of one log that follow from other facts.
#include "analysis/facts.h"

#include "runner/base/units.h"
#include "runner/mllog/keys.h"

namespace analysis {
namespace {

/// Absent unless both are known and `whole` is positive.
std::optional<double> percent_of(const std::optional<double>& part,
                                 const std::optional<double>& whole) {
  if (!part || !whole || !(*whole > 0.0)) return std::nullopt;
  return base::kPercent * *part / *whole;
}

}  // namespace

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNoRecords:
      return "no_records";
    case Outcome::kIncomplete:
      return "incomplete";
    case Outcome::kAborted:
      return "aborted";
    case Outcome::kSuccess:
      return "success";
    case Outcome::kTargetMissed:
      return "target_missed";
    case Outcome::kTargetUnknown:
      return "target_unknown";
  }
  return "";
}

std::optional<double> RunFacts::target_value() const {
  return target ? std::optional(target->main().value) : std::nullopt;
}

std::optional<mllog::Direction> RunFacts::direction() const {
  return target ? std::optional(target->main().direction) : std::nullopt;
}

std::string RunFacts::metric_name() const {
  const bool has_name = target && !target->main().name().empty();
  return has_name ? metric + " " + target->main().name() : metric;
}

std::optional<double> RunFacts::epoch_num(const Evaluation& evaluation) const {
  return position_key == mllog::keys::kEpochNum ? evaluation.position : std::nullopt;
}

bool RunFacts::counts_epochs() const {
  return !position_unit || *position_unit == mllog::PositionUnit::kEpochs ||
         *position_unit == mllog::PositionUnit::kPasses;
}

std::string RunFacts::position_unit_text() const {
  return position_unit ? to_string(*position_unit) : "";
}

std::optional<double> RunFacts::time_to_target_s() const {
  if (!at_target || resumed) return std::nullopt;
  const Evaluation& hit = evaluations[*at_target];
  if (evaluates_checkpoints && run_stop_ms && hit.time_ms > *run_stop_ms) return std::nullopt;
  return hit.time_s;
}

std::optional<double> RunFacts::ttt_excluding_staging_s() const {
  if (!ttt_s) return std::nullopt;
  return *ttt_s - parts.staging_alone_s();
}

std::optional<double> RunFacts::ttt_including_staging_s() const {
  if (!ttt_s) return std::nullopt;
  return *ttt_s + parts.staging_s.value_or(0.0) - parts.staging_in_run_s.value_or(0.0);
}

std::optional<double> RunFacts::staging_percent() const {
  return percent_of(time_for_staging_s(), ttt_including_staging_s());
}

std::optional<double> RunFacts::staging_on_top_percent() const {
  return percent_of(time_for_staging_s(), ttt_excluding_staging_s());
}

std::optional<double> RunFacts::time_for_staging_s() const {
  if (!parts.staging_s) return std::nullopt;
  return *parts.staging_s - parts.staging_beside_s;
}

std::optional<double> RunFacts::mean_epoch_s() const {
  const auto& epochs = progress.epochs_run;
  if (!parts.epoch_s || !epochs || *parts.epoch_s == 0.0 || *epochs == 0.0) return std::nullopt;
  return *parts.epoch_s / *epochs;
}

Value RunFacts::config_value(const std::string& key) const {
  const auto found = config.find(key);
  return found == config.end() ? Value() : found->second;
}

std::string RunFacts::config_text(const std::string& key) const {
  return to_text(config_value(key));
}

}  // namespace analysis
