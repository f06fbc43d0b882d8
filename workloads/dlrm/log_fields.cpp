// Log keys of optimizer and schedule.
// Hides nothing more.
#include "workloads/dlrm/log_fields.h"

#include "runner/mllog/keys.h"

namespace dlrm {

namespace keys = mllog::keys;

LogFields optimizer_log_fields(const nn::Hyperparameters& optimizer,
                               const nn::ScheduleConfig& schedule) {
  LogFields fields = {{keys::kOptName, optimizer.name},
                      {keys::kBaseLearningRate, schedule.base_learning_rate},
                      {keys::kSgdBaseLearningRate, schedule.base_learning_rate},
                      {keys::kWarmupSteps, schedule.warmup_steps}};
  if (schedule.shape == nn::ScheduleShape::kDelayedPolynomial) {
    const auto power = static_cast<std::int64_t>(schedule.power);
    const bool is_whole = static_cast<double>(power) == schedule.power;
    fields.emplace_back(keys::kDecayStartSteps, schedule.decay_start_step);
    fields.emplace_back(keys::kSgdDecaySteps, schedule.decay_steps);
    fields.emplace_back(keys::kSgdPolyPower, is_whole ? nlohmann::ordered_json(power)
                                                      : nlohmann::ordered_json(schedule.power));
  }
  return fields;
}

}  // namespace dlrm
