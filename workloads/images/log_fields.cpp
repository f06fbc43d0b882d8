// Log keys of optimizer and schedule.
#include "workloads/images/log_fields.h"

#include "runner/mllog/keys.h"

namespace images {
namespace {

namespace keys = mllog::keys;

/// Warm-up in epochs, as an integer if it is whole: closed submissions must give an integer.
nlohmann::ordered_json warmup_epochs(const nn::ScheduleConfig& schedule,
                                     std::int64_t steps_per_epoch) {
  if (schedule.warmup.length % steps_per_epoch == 0)
    return schedule.warmup.length / steps_per_epoch;
  return static_cast<double>(schedule.warmup.length) / static_cast<double>(steps_per_epoch);
}

/// The key of each of the two optimizers that the rules know.
struct OptimizerKey {
  const char* lars;
  const char* sgd;
};

}  // namespace

LogFields optimizer_log_fields(const nn::Hyperparameters& optimizer,
                               const nn::ScheduleConfig& schedule, std::int64_t steps_per_epoch,
                               std::int64_t bn_group_samples) {
  using Shape = nn::DecayShape;
  const bool lars = optimizer.name == "lars", sgd = optimizer.name == "sgd";
  const bool delayed = schedule.decay.shape == Shape::kDelayedPolynomial;
  const bool polynomial = delayed || schedule.decay.shape == Shape::kPolynomial;
  LogFields fields = {{keys::kOptName, optimizer.name}};
  const auto add = [&](const OptimizerKey& key, const nlohmann::ordered_json& value) {
    if (lars || sgd) fields.emplace_back(lars ? key.lars : key.sgd, value);
  };
  if (!lars && !sgd) fields.emplace_back(keys::kBaseLearningRate, schedule.peak);
  add({keys::kLarsBaseLearningRate, keys::kSgdBaseLearningRate}, schedule.peak);
  fields.emplace_back(lars ? keys::kLarsWarmupEpochs : keys::kWarmupEpochs,
                      warmup_epochs(schedule, steps_per_epoch));
  add({keys::kLarsMomentum, keys::kSgdMomentum}, optimizer.momentum);
  add({keys::kLarsWeightDecay, keys::kSgdWeightDecay}, optimizer.weight_decay);
  if (schedule.decay.shape != Shape::kConstant && schedule.decay.shape != Shape::kStep) {
    add({keys::kLarsEndLearningRate, keys::kSgdEndLearningRate}, schedule.decay.end);
    add({keys::kLarsDecaySteps, keys::kSgdDecaySteps}, schedule.decay.length);
  }
  if (delayed) fields.emplace_back(keys::kDecayStartSteps, schedule.decay.begin);
  if (polynomial) add({keys::kLarsPolyPower, keys::kSgdPolyPower}, schedule.decay.power);
  if (lars) fields.emplace_back(keys::kLarsEpsilon, optimizer.epsilon);
  if (bn_group_samples > 0) fields.emplace_back(keys::kModelBnSpan, bn_group_samples);
  return fields;
}

std::map<std::string, std::string> log_settings() {
  return {{keys::kOptName, "/optimizer/name"},
          {keys::kLarsBaseLearningRate, "/schedule/learning_rate"},
          {keys::kSgdBaseLearningRate, "/schedule/learning_rate"},
          {keys::kLarsEndLearningRate, "/schedule/end_learning_rate"},
          {keys::kSgdEndLearningRate, "/schedule/end_learning_rate"},
          {keys::kLarsDecaySteps, "/schedule/decay_steps"},
          {keys::kSgdDecaySteps, "/schedule/decay_steps"},
          {keys::kLarsPolyPower, "/schedule/power"},
          {keys::kSgdPolyPower, "/schedule/power"},
          {keys::kLarsWarmupEpochs, "/schedule/warmup_epochs"},
          {keys::kWarmupEpochs, "/schedule/warmup_epochs"},
          {keys::kLarsMomentum, "/optimizer/momentum"},
          {keys::kSgdMomentum, "/optimizer/momentum"},
          {keys::kLarsWeightDecay, "/optimizer/weight_decay"},
          {keys::kSgdWeightDecay, "/optimizer/weight_decay"},
          {keys::kLarsEpsilon, "/optimizer/epsilon"},
          {keys::kModelBnSpan, "/training/bn_group_samples"},
          {keys::kTrainSamples, "/dataset/train"},
          {keys::kEvalSamples, "/dataset/validation"}};
}

}  // namespace images
