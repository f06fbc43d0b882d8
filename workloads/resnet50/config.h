// The keys of a ResNet-50 configuration beyond those of every workload.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/object_reader.h"
#include "staging/cache/cache_config.h"
#include "staging/staging_config.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/recompute.h"
#include "workloads/parallel/gradient_travel.h"
#include "workloads/parallel/training_keys.h"
#include "workloads/resnet50/model.h"
#include "workloads/resnet50/preprocess.h"

namespace resnet50 {

enum class OnCorrupt {
  kError,  ///< a sample that does not decode ends the run with its name
  kSkip    ///< its slot stays empty (zeros, no loss, not counted) and it is counted as skipped
};

struct DataConfig : parallel::ReadKeys {
  /// Images are small, so more batches are prefetched.
  DataConfig() { prefetch_batches = 4; }
  std::string train, validation;  ///< folder or tar of class folders, or tar of class tars
  std::string validation_labels;  ///< labels of a flat validation set
  std::int64_t first_label = 0;
  Style preprocess = Style::kMlperf;
  std::int64_t evaluation_resize = 0;
  std::int64_t largest_shift = kUsualShift;  ///< pixels; only for Style::kCifar
  bool scaled_decoding = false;
  std::int64_t cache_bytes = 0;  ///< memory of a rank for decoded images
  OnCorrupt on_corrupt = OnCorrupt::kError;
};

struct TrainingConfig : parallel::UpdateKeys {
  std::int64_t bn_group_samples = 32;
  double label_smoothing = 0.0;
  nn::Arithmetic arithmetic;
  parallel::GradientTravel gradients;  ///< between nodes
  nn::Recompute recompute = nn::Recompute::kNormalizations;
};

struct Config {
  ModelConfig model;
  DataConfig data;
  staging::StagingConfig staging;
  cache::CacheConfig cache;
  TrainingConfig training;
  std::int64_t epochs = 0;
};

/// Parses model, dataset, staging and training. The sections optimizer and schedule are parsed by
/// nn.
Config parse_config(const base::ObjectReader& root);

/// Parses all sections, including optimizer and schedule, for `config` and `--dry-run`.
void check_config(const base::ObjectReader& root);

}  // namespace resnet50
