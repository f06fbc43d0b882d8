// The keys of a configuration that classifies images, beyond those of every workload and of the
// model.
#pragma once

#include <cstdint>
#include <string>

#include "runner/base/object_reader.h"
#include "staging/cache/cache_config.h"
#include "staging/staging_config.h"
#include "workloads/images/preprocess.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/recompute.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/gradient_travel.h"
#include "workloads/parallel/training_keys.h"

namespace images {

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

/// What the sections below depend on of the model.
struct ModelFacts {
  std::int64_t image_size = 0, classes = 0;
  bool has_norms = true;              ///< batch norms, whose statistics samples share
  Style preprocess = Style::kMlperf;  ///< unless the configuration says otherwise
};

struct Config {
  ModelFacts model;
  DataConfig data;
  staging::StagingConfig staging;
  cache::CacheConfig cache;
  TrainingConfig training;
  std::int64_t epochs = 0;
};

/// Parses dataset, staging, cache and training. Without batch norms, bn_group_samples is unknown.
Config parse_config(const base::ObjectReader& root, const ModelFacts& model);

/// Parses optimizer and schedule, for `config` and `--dry-run`.
void check_update(const base::ObjectReader& root, const Config& config);

parallel::DataParallelConfig data_parallel_config(const Config& config);

}  // namespace images
