// Parsing of the sections that say which images are trained on, and how.
#include "workloads/images/config.h"

#include <vector>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "runner/mllog/benchmarks.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"

namespace images {
namespace {

DataConfig parse_data(const base::ObjectReader& in, Style usual) {
  DataConfig data;
  data.preprocess = usual;
  data.train = in.required<std::string>(
      "train", "training set: folder or tar of class folders, or tar of class tars",
      base::whole_path());
  data.validation = in.required<std::string>(
      "validation", "validation set, likewise or flat with labels", base::whole_path());
  data.validation_labels = in.optional<std::string>(
      "validation_labels", "",
      "labels of a flat validation set: an integer a line, in order of file names");
  data.first_label = in.optional<std::int64_t>("first_label", 0, "the integer that means class 0",
                                               base::within(0, 1));
  data.preprocess = in.choice("preprocess", data.preprocess, style_choices(),
                              "augmentation and evaluation transform");
  data.evaluation_resize = in.optional<std::int64_t>(
      "evaluation_resize", 0,
      "shorter side before the central crop, of caffe both sides before any crop; 0: image_size * "
      "256 / 224 (caffe: 256 / 227, cifar: image_size)",
      base::within(0, 65536));
  data.largest_shift =
      in.optional("largest_shift", data.largest_shift,
                  "cifar: largest shift of a training image in pixels, each way; 0: mirroring only",
                  base::within(0, 65536));
  if (data.preprocess != Style::kCifar && data.largest_shift != kUsualShift) {
    throw base::ConfigError(in.where("largest_shift") + ": only preprocess cifar shifts");
  }
  data.scaled_decoding = in.optional<bool>(
      "scaled_decoding", data.scaled_decoding,
      "decode JPEGs for training at 1/2, 1/4 or 1/8 of their size where the crop stays at least "
      "image_size: less work, other pixels");
  const bool is_whole = data.preprocess != Style::kMlperf && data.preprocess != Style::kTorchvision;
  if (data.scaled_decoding && is_whole) {
    throw base::ConfigError(in.where("scaled_decoding") +
                            ": preprocess cifar and caffe use whole images");
  }
  data.cache_bytes = parallel::parse_cache_bytes(in);
  if (data.scaled_decoding && data.cache_bytes > 0) {
    throw base::ConfigError(in.where("scaled_decoding") +
                            ": cache_bytes keeps images at their full size; leave one of both out");
  }
  data.on_corrupt = in.choice<OnCorrupt>(
      "on_corrupt", OnCorrupt::kError, {{"error", OnCorrupt::kError}, {"skip", OnCorrupt::kSkip}},
      "error: end and name the file; skip: leave the slot empty and count it");
  parallel::parse_read_keys(in, data);
  return data;
}

TrainingConfig parse_training(const base::ObjectReader& in, bool has_norms) {
  TrainingConfig training;
  parallel::parse_update_keys(in, training);
  if (has_norms) {
    training.bn_group_samples = in.optional<std::int64_t>(
        "bn_group_samples", training.bn_group_samples,
        "samples that share batch-norm statistics, on any number of ranks", base::at_least(1));
  } else {
    training.bn_group_samples = 1;
  }
  training.label_smoothing =
      in.optional<double>("label_smoothing", 0.0, "share of the target spread over all classes",
                          base::between(0.0, 1.0));
  training.arithmetic = parallel::parse_convolution_arithmetic(in);
  training.gradients = parallel::parse_gradient_travel(in);
  const auto f32_layers = in.optional<std::vector<std::string>>(
      "f32_layers", {}, "bf16: names of convolutions that are computed in f32 all the same");
  training.arithmetic.f32_layers = {f32_layers.begin(), f32_layers.end()};
  training.arithmetic.winograd_gradients = in.optional<bool>(
      "winograd_gradients", true,
      "products of floats: gradients of 3x3 convolutions by Winograd's transformation where that "
      "is faster; in bf16 values, too");
  training.recompute = parallel::parse_recompute(in, training.recompute);
  if (!f32_layers.empty() && training.arithmetic.precision == nn::Precision::kF32) {
    throw base::ConfigError(in.where("f32_layers") + ": needs precision bf16");
  }
  return training;
}

}  // namespace

Config parse_config(const base::ObjectReader& root, const ModelFacts& model) {
  Config config;
  config.model = model;
  config.data = parse_data(root.object("dataset", "where samples come from"), model.preprocess);
  config.staging = staging::parse_staging(root.object("staging", "node-local copies"));
  config.cache = cache::parse_cache(root.object("cache", "training samples kept near"));
  config.training =
      parse_training(root.object("training", "how an update is made"), model.has_norms);
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::at_least(1));
  // Throws ConfigError for sizes that contradict each other.
  (void)Preprocess(config.data.preprocess, static_cast<int>(model.image_size),
                   static_cast<int>(config.data.evaluation_resize),
                   static_cast<int>(config.data.largest_shift));
  const TrainingConfig& training = config.training;
  const std::int64_t pass = training.pass_samples();
  if (pass % training.bn_group_samples != 0) {
    throw base::ConfigError(root.object("training", "").where("bn_group_samples") +
                            ": must divide the " + std::to_string(pass) +
                            " samples of a pass, got " + std::to_string(training.bn_group_samples));
  }
  return config;
}

void check_update(const base::ObjectReader& root, const Config& config) {
  (void)nn::make_optimizer(root.object("optimizer", "how gradients change weights"));
  // Without train_samples, the steps of an epoch are not known here; ImageNet's size stands in, to
  // check relations between keys.
  const std::int64_t samples = config.data.train_samples > 0
                                   ? config.data.train_samples
                                   : mllog::find_benchmark("resnet")->train_samples.front();
  parallel::check_batch_fits(root, config.training.global_batch_size, samples);
  (void)nn::parse_schedule(root.object("schedule", "learning rate by update"),
                           config.training.global_batch_size,
                           samples / config.training.global_batch_size, config.epochs);
}

parallel::DataParallelConfig data_parallel_config(const Config& config) {
  parallel::DataParallelConfig parallel;
  parallel.global_batch = config.training.global_batch_size;
  parallel.accumulation = config.training.gradient_accumulation_steps;
  parallel.bn_group_size = config.training.bn_group_samples;
  parallel.instruction_set = base::usable_instruction_set();
  parallel.arithmetic = config.training.arithmetic;
  parallel.recompute = config.training.recompute;
  parallel.gradients = config.training.gradients;
  return parallel;
}

}  // namespace images
