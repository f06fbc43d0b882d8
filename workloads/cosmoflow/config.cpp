// Reading of CosmoFlow's sections.
// Hides ObjectReader's calls.
#include "workloads/cosmoflow/config.h"

#include <fmt/format.h>

#include "runner/base/error.h"

namespace cosmoflow {
namespace {

DataConfig parse_data(const base::ObjectReader& in) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
  DataConfig data;
  data.train = in.required<std::string>(
      "train", "folder of training samples, one file each: HDF5 or TFRecord", base::not_empty());
  data.validation =
      in.required<std::string>("validation", "folder of validation samples", base::not_empty());
  data.apply_log = in.optional("apply_log", data.apply_log,
                               "true: log(count + 1); false: count over the sample's mean");
  data.flips = in.optional("flips", data.flips, "training mirrors axes at random");
  data.transposes = in.optional("transposes", data.transposes, "training swaps axes at random");
  data.cache_bytes = in.optional<std::int64_t>(
      "cache_bytes", 0,
      "memory of a rank for decoded samples that it reads again, as narrow as "
      "their counts are",
      base::within(0, kMostBytes));
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

}  // namespace

Config parse_config(const base::ObjectReader& root) {
  Config config;
  config.model = parse_model(root.object("model", "the network"));
  config.data = parse_data(root.object("dataset", "where samples come from"));
  config.staging = staging::parse_staging(root.object("staging", "node-local copies"));
  const base::ObjectReader training = root.object("training", "how an update is made");
  parallel::parse_update_keys(training, config);
  config.arithmetic = parallel::parse_convolution_arithmetic(training);
  if (config.arithmetic.precision == nn::Precision::kBf16 && config.model.redshifts % 2 != 0) {
    throw base::ConfigError(fmt::format("{}: bf16 takes an even number of /model/redshifts, got {}",
                                        training.where("precision"), config.model.redshifts));
  }
  parse_split(training, config);
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::within(1, ScheduleConfig::kMostEpochs));
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
