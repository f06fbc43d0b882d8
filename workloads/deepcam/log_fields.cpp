// Log keys of optimizer and schedule, and the closed division's bounds.
#include "workloads/deepcam/log_fields.h"

#include <fmt/format.h>

#include "runner/mllog/keys.h"

namespace deepcam {
namespace {

namespace keys = mllog::keys;

/// The optimizer's name in the rules' spelling.
std::string optimizer_name(const std::string& name) {
  if (name == "lamb") return "LAMB";
  return name == "adam" ? "Adam" : "AdamW";
}

/// A key of the model whose value the closed division fixes.
struct Size {
  const char* key;
  std::int64_t ModelConfig::*value;
};
constexpr Size kSizes[] = {{"height", &ModelConfig::height},
                           {"width", &ModelConfig::width},
                           {"middle_blocks", &ModelConfig::middle_blocks},
                           {"widths/conv1", &ModelConfig::conv1},
                           {"widths/conv2", &ModelConfig::conv2},
                           {"widths/block1", &ModelConfig::block1},
                           {"widths/block2", &ModelConfig::block2},
                           {"widths/middle", &ModelConfig::middle},
                           {"widths/block20", &ModelConfig::block20},
                           {"widths/conv3", &ModelConfig::conv3},
                           {"widths/conv4", &ModelConfig::conv4},
                           {"widths/conv5", &ModelConfig::conv5},
                           {"widths/aspp", &ModelConfig::aspp},
                           {"widths/low_level", &ModelConfig::low_level},
                           {"widths/decoder", &ModelConfig::decoder}};

}  // namespace

LogFields log_fields(const Config& config, const nn::Hyperparameters& optimizer) {
  const nn::ScheduleConfig& schedule = config.schedule;
  LogFields fields = {{keys::kBatchNormGroupSize, config.bn_group_ranks},
                      {keys::kGradientAccumulationFrequency, config.gradient_accumulation_steps},
                      {keys::kOptName, optimizer_name(optimizer.name)},
                      {keys::kOptLearningRate, schedule.peak},
                      {keys::kOptBetas, nlohmann::ordered_json{optimizer.beta1, optimizer.beta2}},
                      {keys::kOptEpsilon, optimizer.epsilon},
                      {keys::kOptWeightDecay, optimizer.weight_decay},
                      {keys::kSchedulerType, scheduler_type(schedule.decay.shape)},
                      {keys::kSchedulerWarmupSteps, schedule.warmup.length},
                      {keys::kSchedulerWarmupFactor, schedule.warmup.factor}};
  if (optimizer.name == "lamb") {
    fields.emplace_back(keys::kOptBiasCorrection, true);
    fields.emplace_back(keys::kOptGradAveraging, true);
    fields.emplace_back(keys::kOptMaxGradNorm, optimizer.max_gradient_norm);
  }
  if (schedule.decay.shape == nn::DecayShape::kStep) {
    fields.emplace_back(keys::kSchedulerMilestones, schedule.decay.milestones);
    fields.emplace_back(keys::kSchedulerDecayRate, schedule.decay.factor);
  } else {
    fields.emplace_back(keys::kSchedulerTMax, schedule.decay.length);
    fields.emplace_back(keys::kSchedulerEtaMin, schedule.decay.end);
  }
  return fields;
}

std::map<std::string, std::string> log_settings() {
  return {{keys::kOptName, "/optimizer/name"},
          {keys::kOptLearningRate, "/schedule/learning_rate"},
          {keys::kOptBetas, "/optimizer/beta1 and beta2"},
          {keys::kOptEpsilon, "/optimizer/epsilon"},
          {keys::kOptWeightDecay, "/optimizer/weight_decay"},
          {keys::kOptMaxGradNorm, "/optimizer/max_gradient_norm"},
          {keys::kSchedulerType, "/schedule/type"},
          {keys::kSchedulerWarmupSteps, "/schedule/warmup_steps"},
          {keys::kSchedulerWarmupFactor, "/schedule/warmup_factor"},
          {keys::kSchedulerMilestones, "/schedule/milestones"},
          {keys::kSchedulerDecayRate, "/schedule/decay_rate"},
          {keys::kSchedulerTMax, "/schedule/t_max"},
          {keys::kSchedulerEtaMin, "/schedule/eta_min"},
          {keys::kBatchNormGroupSize, "/training/bn_group_ranks"},
          {keys::kGradientAccumulationFrequency, "/training/gradient_accumulation_steps"},
          {keys::kTrainSamples, "/dataset/train"},
          {keys::kEvalSamples, "/dataset/validation"}};
}

std::vector<std::string> closed_rule_breaks(const Config& config) {
  const ModelConfig reference;
  std::vector<std::string> breaks;
  const auto expect = [&](bool holds, const std::string& key, const auto& wanted,
                          const auto& found) {
    if (!holds) breaks.push_back(fmt::format("{}: must be {}, got {}", key, wanted, found));
  };
  expect(config.iou == IouOver::kSample, "/evaluation/iou_over", "sample", "batch");
  for (const Size& size : kSizes) {
    const std::int64_t wanted = reference.*size.value, found = config.model.*size.value;
    expect(found == wanted, fmt::format("/model/{}", size.key), wanted, found);
  }
  return breaks;
}

}  // namespace deepcam
