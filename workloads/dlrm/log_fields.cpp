// Log fields of optimizer and schedule.
#include "workloads/dlrm/log_fields.h"

#include "runner/mllog/keys.h"

namespace dlrm {

namespace keys = mllog::keys;

LogFields optimizer_log_fields(const nn::Hyperparameters& layers,
                               const parallel::EmbeddingConfig& tables,
                               const nn::ScheduleConfig& schedule) {
  const std::string& of_tables = nn::to_string(tables.rule);
  const bool is_one = layers.name == of_tables;
  const bool is_sgd = is_one && tables.rule == nn::SparseRule::kSgd;
  LogFields fields = {
      {keys::kOptName, is_one ? layers.name : "layers: " + layers.name + ", tables: " + of_tables},
      {keys::kBaseLearningRate, schedule.peak},
      {keys::kWarmupSteps, schedule.warmup.length}};
  if (tables.learning_rate_factor != 1.0) {
    fields.emplace_back(keys::kTablesLearningRate, schedule.peak * tables.learning_rate_factor);
  }
  if (is_sgd) fields.emplace_back(keys::kSgdBaseLearningRate, schedule.peak);
  if (schedule.decay.shape != nn::DecayShape::kDelayedPolynomial) return fields;
  fields.emplace_back(keys::kDecayStartSteps, schedule.decay.begin);
  if (!is_sgd) return fields;
  const auto power = static_cast<std::int64_t>(schedule.decay.power);
  const bool is_whole = static_cast<double>(power) == schedule.decay.power;
  fields.emplace_back(keys::kSgdDecaySteps, schedule.decay.length);
  fields.emplace_back(keys::kSgdPolyPower, is_whole ? nlohmann::ordered_json(power)
                                                    : nlohmann::ordered_json(schedule.decay.power));
  return fields;
}

std::map<std::string, std::string> log_settings() {
  return {{keys::kOptName, "/optimizer/name"},
          {keys::kBaseLearningRate, "/schedule/learning_rate"},
          {keys::kSgdBaseLearningRate, "/optimizer/name"},  // logged only if all are SGD
          {keys::kTablesLearningRate, "/embeddings/learning_rate_factor"},
          {keys::kWarmupSteps, "/schedule/warmup_steps"},
          {keys::kDecayStartSteps, "/schedule/name"},  // these, only for a delayed polynomial
          {keys::kSgdDecaySteps, "/schedule/name"},
          {keys::kSgdPolyPower, "/schedule/power"},
          {keys::kTrainSamples, "/dataset/train"},
          {keys::kEvalSamples, "/dataset/test"}};
}

}  // namespace dlrm
