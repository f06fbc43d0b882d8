// Parsing of CosmoFlow's sections.
#include "workloads/cosmoflow/config.h"

#include <fmt/format.h>

#include "runner/base/error.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer_config.h"

namespace cosmoflow {
namespace {

DataConfig parse_data(const base::ObjectReader& in) {
  DataConfig data;
  data.train = in.required<std::string>(
      "train",
      "folder of training samples, one file each: HDF5 or TFRecord; or one in an archive, as in "
      "data.tar/train",
      base::whole_path());
  data.validation =
      in.required<std::string>("validation", "folder of validation samples", base::whole_path());
  data.apply_log = in.optional("apply_log", data.apply_log,
                               "true: log(count + 1); false: count over the sample's mean");
  data.flips = in.optional("flips", data.flips, "training mirrors axes at random");
  data.transposes = in.optional("transposes", data.transposes, "training swaps axes at random");
  data.cache_bytes = parallel::parse_cache_bytes(in);
  parallel::parse_read_keys(in, data);
  return data;
}

void parse_split(const base::ObjectReader& training, Config& config) {
  const base::ObjectReader split =
      training.object("sample_split", "ranks that share each sample, side by side");
  config.chooses_split =
      split.optional("auto", false, "the fewest parts that memory and the number of samples allow");
  config.split.depth =
      split.optional<std::int64_t>("depth", 1, "parts along depth", base::within(1, 1024));
  config.split.height =
      split.optional<std::int64_t>("height", 1, "parts along height", base::within(1, 1024));
  config.memory_limit_gib = training.optional<double>(
      "memory_limit_gib", 0.0, "that a rank's training may take as planned; 0: unlimited",
      base::not_negative());
  if (config.chooses_split && config.split.parts() > 1) {
    throw base::ConfigError(split.where("auto") + ": stands beside depth and height; give one");
  }
  if (!can_split(config.model, config.split)) {
    throw base::ConfigError(
        fmt::format("{}: parts of a sample of {} must be whole pairs of voxels, got {} x {} parts",
                    split.where(), config.model.size, config.split.depth, config.split.height));
  }
  if (config.split.parts() > 1 && !config.data.apply_log) {
    throw base::ConfigError(split.where() +
                            ": needs /dataset/apply_log, as a part does not know the mean");
  }
}

const std::vector<std::pair<std::string, nn::DecayShape>>& all_decays() {
  static const std::vector<std::pair<std::string, nn::DecayShape>> decays = {
      {"step", nn::DecayShape::kStep},
      {"polynomial", nn::DecayShape::kPolynomial},
      {"cosine", nn::DecayShape::kCosine},
      {"htd", nn::DecayShape::kHyperbolicTangent}};
  return decays;
}

double peak_of(const base::ObjectReader& in, double base, std::int64_t global_batch) {
  const auto scaling =
      in.choice<nn::BatchScaling>("scaling", nn::BatchScaling::kLinear, nn::batch_scalings(),
                                  "how the peak grows with global batch / reference_batch");
  const auto reference = in.optional<std::int64_t>(
      "reference_batch", 64, "global batch whose peak is learning_rate", base::at_least(1));
  const auto peak = in.optional<double>("peak_learning_rate", 0.0,
                                        "rate after warm-up, in place of scaling; 0: by scaling",
                                        base::not_negative());
  return peak > 0.0 ? peak : base * nn::batch_factor(scaling, global_batch, reference);
}

void parse_steps(const base::ObjectReader& in, nn::Decay& decay) {
  decay.begin = 1;
  decay.milestones = nn::parse_rising(in, "decay_boundary_epochs", kMostEpochs,
                                      "epochs; the rate changes one epoch after each");
  decay.factors =
      in.optional<std::vector<double>>("decay_factors", {}, "of the peak, one for each boundary");
  if (decay.factors.size() != decay.milestones.size()) {
    throw base::ConfigError(fmt::format("{}: expected {}, one for each boundary, got {}",
                                        in.where("decay_factors"), decay.milestones.size(),
                                        decay.factors.size()));
  }
  for (const double factor : decay.factors) {
    if (factor > 0.0 && factor < 1.0) continue;
    throw base::ConfigError(
        fmt::format("{}: must be between 0 and 1, got {}", in.where("decay_factors"), factor));
  }
}

void parse_falling(const base::ObjectReader& in, std::int64_t epochs,
                   nn::ScheduleConfig& schedule) {
  nn::Decay& decay = schedule.decay;
  const auto end = in.optional<std::int64_t>("decay_epochs", epochs, "end of the decay",
                                             base::within(1, kMostEpochs));
  decay.begin = schedule.warmup.length;
  decay.length = end - decay.begin;
  if (decay.length <= 0) {
    throw base::ConfigError(fmt::format("{}: must end after the {} epochs of warm-up, got {}",
                                        in.where("decay_epochs"), decay.begin, end));
  }
  decay.end_factor =
      in.optional<double>("end_factor", 0.0, "of the peak, at the end", base::between(0.0, 1.0));
  if (decay.shape == nn::DecayShape::kPolynomial) {
    decay.power = in.optional<double>("power", 1.0, "exponent of the decay", base::positive());
  }
}

}  // namespace

nn::ScheduleConfig parse_schedule(const base::ObjectReader& in, std::int64_t global_batch,
                                  std::int64_t epochs) {
  nn::ScheduleConfig schedule;
  schedule.unit = nn::ScheduleUnit::kEpochs;
  nn::Warmup& warmup = schedule.warmup;
  warmup.rise = nn::Rise::kBefore;
  warmup.from =
      in.optional<double>("learning_rate", 0.001, "rate of the first epoch", base::positive());
  schedule.peak = peak_of(in, warmup.from, global_batch);
  warmup.length = in.optional<std::int64_t>("warmup_epochs", 0, "from learning_rate to the peak",
                                            base::within(0, kMostEpochs));
  schedule.decay.shape =
      in.choice<nn::DecayShape>("decay", nn::DecayShape::kStep, all_decays(),
                                "shape of the rate after warm-up; htd: hyperbolic tangent");
  if (schedule.decay.shape == nn::DecayShape::kStep) {
    parse_steps(in, schedule.decay);
  } else {
    parse_falling(in, epochs, schedule);
  }
  return schedule;
}

const char* decay_name(nn::DecayShape shape) {
  for (const auto& [name, value] : all_decays()) {
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
  const base::ObjectReader training = root.object("training", "how an update is made");
  parallel::parse_update_keys(training, config);
  config.arithmetic = parallel::parse_convolution_arithmetic(training);
  config.gradients = parallel::parse_gradient_travel(training);
  if (config.arithmetic.precision == nn::Precision::kBf16 && config.model.redshifts % 2 != 0) {
    throw base::ConfigError(fmt::format("{}: bf16 takes an even number of /model/redshifts, got {}",
                                        training.where("precision"), config.model.redshifts));
  }
  parse_split(training, config);
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::within(1, kMostEpochs));
  config.schedule = parse_schedule(root.object("schedule", "learning rate by epoch"),
                                   config.global_batch_size, config.epochs);
  return config;
}

std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root) {
  nn::SgdConfig usual;
  usual.form = nn::MomentumForm::kKeras;
  usual.decay_mode = nn::DecayMode::kKerasL2;
  return nn::make_optimizer(root.object("optimizer", "how gradients change weights"), usual);
}

void check_config(const base::ObjectReader& root) {
  const Config config = parse_config(root);
  (void)make_optimizer(root);
  parallel::check_batch_fits(root, config.global_batch_size, config.data.train_samples);
}

}  // namespace cosmoflow
