// Parsing of DeepCAM's sections.
#include "workloads/deepcam/config.h"

#include <fmt/format.h>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/optimizer_config.h"

namespace deepcam {
namespace {

constexpr std::int64_t kMostEpochs = 1'000'000;

constexpr std::int64_t kMostSteps = 1'000'000'000;

enum class Rule { kLamb, kAdam, kAdamW };

const std::vector<std::pair<std::string, nn::DecayShape>>& scheduler_types() {
  static const std::vector<std::pair<std::string, nn::DecayShape>> types = {
      {"multistep", nn::DecayShape::kStep}, {"cosine_annealing", nn::DecayShape::kPeriodicCosine}};
  return types;
}

nn::Warmup parse_warmup(const base::ObjectReader& in) {
  nn::Warmup warmup;
  warmup.rise = nn::Rise::kFactor;
  warmup.length =
      in.optional<std::int64_t>("warmup_steps", 0, "updates", base::within(0, kMostSteps));
  warmup.factor = in.optional<double>(
      "warmup_factor", warmup.factor,
      "1: warm-up from 0 to learning_rate; above 1: from learning_rate to this multiple of it",
      {"must be at least 1, at most 1e6",
       [](const double& factor) { return factor >= 1.0 && factor <= 1e6; }});
  return warmup;
}

void parse_training(const base::ObjectReader& in, Config& config) {
  parallel::parse_update_keys(in, config);
  config.bn_group_ranks = in.optional<std::int64_t>(
      "bn_group_ranks", 1, "neighbouring ranks whose samples share batch norm's statistics",
      base::within(1, 1 << 20));
  config.arithmetic = parallel::parse_convolution_arithmetic(in);
  config.gradients = parallel::parse_gradient_travel(in);
  config.recompute = parallel::parse_recompute(in, config.recompute);
}

}  // namespace

nn::ScheduleConfig parse_schedule(const base::ObjectReader& in) {
  nn::ScheduleConfig schedule;
  nn::Decay& decay = schedule.decay;
  decay.shape = in.choice<nn::DecayShape>("type", nn::DecayShape::kStep, scheduler_types(),
                                          "shape of the rate");
  schedule.peak =
      in.optional<double>("learning_rate", 0.001, "rate that warm-up leads to", base::positive());
  schedule.warmup = parse_warmup(in);
  decay.begin = schedule.warmup.length;
  if (decay.shape == nn::DecayShape::kStep) {
    decay.milestones = nn::parse_rising(in, "milestones", kMostSteps,
                                        "updates after warm-up at which the rate falls");
    decay.factor = in.optional<double>("decay_rate", decay.factor, "factor at each milestone",
                                       base::between(0.0, 1.0));
    return schedule;
  }
  decay.length = in.required<std::int64_t>("t_max", "updates after warm-up until eta_min",
                                           base::within(1, kMostSteps));
  decay.end = in.optional<double>("eta_min", decay.end, "the least rate", base::not_negative());
  return schedule;
}

const char* scheduler_type(nn::DecayShape shape) {
  for (const auto& [name, value] : scheduler_types()) {
    if (value == shape) return name.c_str();
  }
  return "";
}

Config parse_config(const base::ObjectReader& root) {
  Config config;
  config.model = parse_model(root.object("model", "the network"));
  config.data = parse_data(root.object("dataset", "where samples come from"));
  config.staging = staging::parse_staging(root.object("staging", "node-local copies"));
  config.cache = cache::parse_cache(root.object("cache", "training samples kept near"));
  parse_training(root.object("training", "how an update is made"), config);
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::within(1, kMostEpochs));
  config.schedule = parse_schedule(root.object("schedule", "learning rate by update"));
  config.iou = root.object("evaluation", "when quality is measured, and how")
                   .choice<IouOver>("iou_over", config.iou,
                                    {{"sample", IouOver::kSample}, {"batch", IouOver::kBatch}},
                                    "what intersections and unions are counted over before their "
                                    "mean: a sample, from hpc v1.0 on, or a rank's batch, as in "
                                    "v0.7");
  return config;
}

std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root) {
  constexpr double kEpsilon = 1e-6;  // the reference's value for all three optimizers
  const base::ObjectReader section = root.object("optimizer", "how gradients change weights");
  const Rule rule = section.choice<Rule>(
      "name", Rule::kLamb, {{"lamb", Rule::kLamb}, {"adam", Rule::kAdam}, {"adamw", Rule::kAdamW}},
      "how gradients change weights");
  if (rule == Rule::kLamb) return nn::make_lamb(nn::parse_lamb(section));
  const auto decay = rule == Rule::kAdam ? nn::AdamDecay::kL2 : nn::AdamDecay::kDecoupled;
  return nn::make_adam(nn::parse_adam(section, decay, kEpsilon));
}

void check_config(const base::ObjectReader& root) {
  const Config config = parse_config(root);
  (void)make_optimizer(root);
  parallel::check_batch_fits(root, config.global_batch_size, config.data.train_samples);
}

parallel::DataParallelConfig data_parallel_config(const Config& config, int ranks) {
  const std::int64_t pass = config.pass_samples();
  const std::int64_t group = config.bn_group_ranks;
  if (ranks % group != 0) {
    throw base::ConfigError(
        fmt::format("/training/bn_group_ranks: must divide the {} ranks, got {}", ranks, group));
  }
  if (pass % (ranks / group) != 0) {
    throw base::ConfigError(
        fmt::format("/training/bn_group_ranks: {} groups of {} ranks must have equal shares "
                    "of the {} samples of a pass: with another /training/global_batch_size, other "
                    "ranks, or one group of all {} they have",
                    ranks / group, group, pass, ranks));
  }
  parallel::DataParallelConfig parallel;
  parallel.global_batch = config.global_batch_size;
  parallel.accumulation = config.gradient_accumulation_steps;
  parallel.bn_group_size = pass / (ranks / group);
  parallel.instruction_set = base::usable_instruction_set();
  parallel.arithmetic = config.arithmetic;
  parallel.recompute = config.recompute;
  parallel.gradients = config.gradients;
  return parallel;
}

}  // namespace deepcam
