// Log keys of schedule, dropout and weight decay, and the closed division's bounds.
#include "workloads/cosmoflow/log_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runner/mllog/keys.h"

namespace cosmoflow {

namespace keys = mllog::keys;

LogFields log_fields(const Config& config, const nn::Hyperparameters& optimizer) {
  const nn::ScheduleConfig& schedule = config.schedule;
  LogFields fields = {{keys::kOptName, optimizer.name},
                      {keys::kBaseLearningRate, schedule.peak},
                      {keys::kWarmupEpochs, schedule.warmup.length},
                      {keys::kWarmupFactor, schedule.peak / schedule.warmup.from},
                      {keys::kDecayBoundaryEpochs, schedule.decay.milestones},
                      {keys::kDecayFactor, schedule.decay.factors},
                      {keys::kDropout, config.model.dropout},
                      {keys::kOptWeightDecay, optimizer.weight_decay}};
  if (config.split.parts() > 1) {
    fields.emplace_back(keys::kSampleSplit,
                        nlohmann::ordered_json{config.split.depth, config.split.height});
  }
  return fields;
}

std::map<std::string, std::string> log_settings() {
  return {{keys::kOptName, "/optimizer/name"},
          {keys::kBaseLearningRate, "/schedule/peak_learning_rate"},
          {keys::kWarmupEpochs, "/schedule/warmup_epochs"},
          {keys::kWarmupFactor, "/schedule/learning_rate"},
          {keys::kDecayBoundaryEpochs, "/schedule/decay_boundary_epochs"},
          {keys::kDecayFactor, "/schedule/decay_factors"},
          {keys::kDropout, "/model/dropout"},
          {keys::kOptWeightDecay, "/optimizer/weight_decay"},
          {keys::kTrainSamples, "/dataset/train"},
          {keys::kEvalSamples, "/dataset/validation"}};
}

std::vector<std::string> closed_rule_breaks(const Config& config,
                                            const nn::Hyperparameters& optimizer) {
  constexpr double kMomentum = 0.9;
  const ModelConfig reference;
  const ModelConfig& model = config.model;
  std::vector<std::string> breaks;
  const auto expect = [&](bool holds, const std::string& key, const std::string& wanted,
                          const std::string& found) {
    if (!holds) breaks.push_back(fmt::format("{}: must be {}, got {}", key, wanted, found));
  };
  if (optimizer.name == "sgd") {  // otherwise the log's opt_name reveals it
    expect(optimizer.momentum == kMomentum, "/optimizer/momentum", fmt::format("{}", kMomentum),
           fmt::format("{}", optimizer.momentum));
    // The log has no keys for these; its opt_weight_decay implies them.
    expect(optimizer.form == nn::MomentumForm::kKeras, "/optimizer/form", "keras", "torch");
    expect(!optimizer.nesterov, "/optimizer/nesterov", "false", "true");
    expect(optimizer.weight_decay == 0.0 || optimizer.decay_mode == nn::DecayMode::kKerasL2,
           "/optimizer/weight_decay_mode", "keras_l2",
           optimizer.decay_mode == nn::DecayMode::kL2 ? "l2" : "decoupled");
  }
  expect(config.schedule.decay.shape == nn::DecayShape::kStep, "/schedule/decay", "step",
         decay_name(config.schedule.decay.shape));
  expect(model.size == reference.size, "/model/size", std::to_string(reference.size),
         std::to_string(model.size));
  expect(model.redshifts == reference.redshifts, "/model/redshifts",
         std::to_string(reference.redshifts), std::to_string(model.redshifts));
  expect(model.channels == reference.channels, "/model/channels",
         fmt::format("{}", reference.channels), fmt::format("{}", model.channels));
  expect(model.dense == reference.dense, "/model/dense", fmt::format("{}", reference.dense),
         fmt::format("{}", model.dense));
  expect(config.data.apply_log, "/dataset/apply_log", "true", "false");
  expect(!config.data.flips, "/dataset/flips", "false", "true");
  expect(!config.data.transposes, "/dataset/transposes", "false", "true");
  return breaks;
}

}  // namespace cosmoflow
