// Reading of ResNet-50's sections.
// Hides ObjectReader's calls.
#include "workloads/resnet50/config.h"

#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "workloads/nn/optimizer.h"
#include "workloads/nn/schedule.h"

namespace resnet50 {
namespace {

constexpr std::int64_t kImageNetTrainSamples = 1281167;

DataConfig parse_data(const base::ObjectReader& in) {
  DataConfig data;
  data.train = in.required<std::string>(
      "train", "training set: folder or tar of class folders, or tar of class tars",
      base::not_empty());
  data.validation = in.required<std::string>(
      "validation", "validation set, likewise or flat with labels", base::not_empty());
  data.validation_labels = in.optional<std::string>(
      "validation_labels", "",
      "labels of a flat validation set: an integer a line, in order of file names");
  data.first_label = in.optional<std::int64_t>("first_label", 0, "the integer that means class 0",
                                               base::within(0, 1));
  data.train_samples = in.optional<std::int64_t>(
      "train_samples", 0, "images; when both counts are given no file is touched before run_start",
      base::at_least(0));
  data.validation_samples =
      in.optional<std::int64_t>("validation_samples", 0, "images", base::at_least(0));
  data.preprocess = in.choice("preprocess", data.preprocess, style_choices(),
                              "augmentation and evaluation transform");
  data.evaluation_resize = in.optional<std::int64_t>(
      "evaluation_resize", 0,
      "shorter side before the central crop; 0: image_size * 256 / 224 (cifar: image_size)",
      base::within(0, 65536));
  data.largest_shift = in.optional(
      "largest_shift", data.largest_shift,
      "cifar: pixels by which training shifts an image at most; 0: it is mirrored or not, no more",
      base::within(0, 65536));
  if (data.preprocess != Style::kCifar && data.largest_shift != kUsualShift) {
    throw base::ConfigError(in.where("largest_shift") + ": only preprocess cifar shifts");
  }
  data.shards = in.optional<std::int64_t>("shards", 1,
                                          "parts of the training set that batches draw from in "
                                          "fixed shares; a node stages only its own",
                                          base::at_least(1));
  data.on_corrupt = in.choice<OnCorrupt>(
      "on_corrupt", OnCorrupt::kError, {{"error", OnCorrupt::kError}, {"skip", OnCorrupt::kSkip}},
      "error: end and name the file; skip: leave the slot empty and count it");
  data.decode_threads = in.optional<std::int64_t>(
      "decode_threads", 0, "threads that decode, per rank; 0: as many as compute",
      base::within(0, 1024));
  data.prefetch_batches =
      in.optional<std::int64_t>("prefetch_batches", data.prefetch_batches,
                                "batches ready ahead of need", base::within(1, 1024));
  return data;
}

TrainingConfig parse_training(const base::ObjectReader& in) {
  TrainingConfig training;
  training.global_batch_size = in.required<std::int64_t>(
      "global_batch_size", "samples of one update, on all ranks", base::at_least(1));
  training.gradient_accumulation_steps = in.optional<std::int64_t>(
      "gradient_accumulation_steps", 1, "passes that make one update", base::at_least(1));
  training.bn_group_size = in.optional<std::int64_t>(
      "bn_group_size", training.bn_group_size,
      "samples that share batch-norm statistics, on any number of ranks", base::at_least(1));
  training.label_smoothing =
      in.optional<double>("label_smoothing", 0.0, "share of the target spread over all classes",
                          base::between(0.0, 1.0));
  training.arithmetic.precision = in.choice<nn::Precision>(
      "precision", nn::Precision::kF32,
      {{"f32", nn::Precision::kF32}, {"bf16", nn::Precision::kBf16}},
      "of activations and their gradients; bf16 needs a CPU with avx512_bf16");
  const auto f32_layers = in.optional<std::vector<std::string>>(
      "f32_layers", {}, "bf16: names of convolutions that are computed in f32 all the same");
  training.arithmetic.f32_layers = {f32_layers.begin(), f32_layers.end()};
  training.arithmetic.winograd_gradients = in.optional<bool>(
      "winograd_gradients", true,
      "f32: gradients of 3x3 convolutions by Winograd's transformation where that is faster");
  std::vector<std::pair<std::string, nn::Recompute>> recompute;
  for (const nn::Recompute one : nn::kAllRecompute) recompute.emplace_back(nn::to_string(one), one);
  training.recompute = in.choice<nn::Recompute>(
      "recompute", training.recompute, recompute,
      "what the backward pass makes again in place of keeping it: outputs of batch norms, which "
      "costs little, or all within residual blocks, for the least memory");
  if (!f32_layers.empty() && training.arithmetic.precision == nn::Precision::kF32) {
    throw base::ConfigError(in.where("f32_layers") + ": needs precision bf16");
  }
  return training;
}

}  // namespace

Config parse_config(const base::ObjectReader& root) {
  Config config;
  config.model = parse_model(root.object("model", "the network"));
  config.data = parse_data(root.object("dataset", "where samples come from"));
  config.staging = staging::parse_staging(root.object("staging", "node-local copies"));
  config.training = parse_training(root.object("training", "how an update is made"));
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::at_least(1));
  // Throws for sizes that contradict each other.
  (void)Preprocess(config.data.preprocess, static_cast<int>(config.model.image_size),
                   static_cast<int>(config.data.evaluation_resize),
                   static_cast<int>(config.data.largest_shift));
  const TrainingConfig& training = config.training;
  if (training.global_batch_size % training.gradient_accumulation_steps != 0) {
    throw base::ConfigError(
        root.object("training", "").where("global_batch_size") + ": must divide by " +
        std::to_string(training.gradient_accumulation_steps) +
        " gradient accumulation steps, got " + std::to_string(training.global_batch_size));
  }
  const std::int64_t pass = training.global_batch_size / training.gradient_accumulation_steps;
  if (pass % training.bn_group_size != 0) {
    throw base::ConfigError(root.object("training", "").where("bn_group_size") +
                            ": must divide the " + std::to_string(pass) +
                            " samples of a pass, got " + std::to_string(training.bn_group_size));
  }
  return config;
}

void check_config(const base::ObjectReader& root) {
  const Config config = parse_config(root);
  (void)nn::make_optimizer(root.object("optimizer", "how gradients change weights"));
  // Without a count the steps of an epoch are not known here; ImageNet's stand in for the relations
  // between keys.
  const std::int64_t samples =
      config.data.train_samples > 0 ? config.data.train_samples : kImageNetTrainSamples;
  const std::int64_t steps = samples / config.training.global_batch_size;
  if (steps < 1) {
    throw base::ConfigError(root.object("training", "").where("global_batch_size") +
                            ": expected at most the " + std::to_string(samples) +
                            " training samples, got " +
                            std::to_string(config.training.global_batch_size));
  }
  (void)nn::parse_schedule(root.object("schedule", "learning rate by update"),
                           config.training.global_batch_size, steps, config.epochs);
}

}  // namespace resnet50
