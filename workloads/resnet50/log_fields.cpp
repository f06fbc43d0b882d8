// Log keys of optimizer and schedule.
// Hides nothing more.
#include "workloads/resnet50/log_fields.h"

#include "runner/mllog/keys.h"

namespace resnet50 {
namespace {

namespace keys = mllog::keys;

/// Warm-up in epochs, as an integer where it is one: closed submissions must give one.
nlohmann::ordered_json warmup_epochs(const nn::ScheduleConfig& schedule,
                                     std::int64_t steps_per_epoch) {
  if (schedule.warmup_steps % steps_per_epoch == 0) return schedule.warmup_steps / steps_per_epoch;
  return static_cast<double>(schedule.warmup_steps) / static_cast<double>(steps_per_epoch);
}

}  // namespace

LogFields optimizer_log_fields(const nn::Hyperparameters& optimizer,
                               const nn::ScheduleConfig& schedule, std::int64_t steps_per_epoch,
                               std::int64_t bn_group_size) {
  const bool lars = optimizer.name == "lars";
  const bool polynomial = schedule.shape == nn::ScheduleShape::kPolynomial;
  const auto warmup = warmup_epochs(schedule, steps_per_epoch);
  LogFields fields = {{keys::kOptName, optimizer.name}};
  const auto add = [&](const char* lars_key, const char* sgd_key,
                       const nlohmann::ordered_json& value) {
    fields.emplace_back(lars ? lars_key : sgd_key, value);
  };
  add(keys::kLarsBaseLearningRate, keys::kSgdBaseLearningRate, schedule.base_learning_rate);
  add(keys::kLarsWarmupEpochs, keys::kWarmupEpochs, warmup);
  add(keys::kLarsMomentum, keys::kSgdMomentum, optimizer.momentum);
  add(keys::kLarsWeightDecay, keys::kSgdWeightDecay, optimizer.weight_decay);
  if (schedule.shape != nn::ScheduleShape::kConstant &&
      schedule.shape != nn::ScheduleShape::kStep) {
    add(keys::kLarsEndLearningRate, keys::kSgdEndLearningRate, schedule.end_learning_rate);
    add(keys::kLarsDecaySteps, keys::kSgdDecaySteps, schedule.decay_steps);
  }
  if (polynomial) add(keys::kLarsPolyPower, keys::kSgdPolyPower, schedule.power);
  if (lars) fields.emplace_back(keys::kLarsEpsilon, optimizer.epsilon);
  fields.emplace_back(keys::kModelBnSpan, bn_group_size);
  return fields;
}

}  // namespace resnet50
