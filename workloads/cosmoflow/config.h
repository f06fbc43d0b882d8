// The keys of a CosmoFlow configuration beyond those of every workload.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/object_reader.h"
#include "staging/cache/cache_config.h"
#include "staging/staging_config.h"
#include "workloads/cosmoflow/model.h"
#include "workloads/nn/precision.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/gradient_travel.h"
#include "workloads/parallel/training_keys.h"

namespace cosmoflow {

inline constexpr std::int64_t kMostEpochs = 1'000'000;  ///< limit for a run and its schedule

struct DataConfig : parallel::ReadKeys {
  std::string train, validation;           ///< folders of samples
  bool apply_log = true;                   ///< log(count + 1); else count / mean
  bool flips = false, transposes = false;  ///< random augmentation of training samples
  std::int64_t cache_bytes = 0;            ///< memory of a rank for decoded samples
};

struct Config : parallel::UpdateKeys {
  ModelConfig model;
  DataConfig data;
  staging::StagingConfig staging;
  cache::CacheConfig cache;
  nn::ScheduleConfig schedule;
  nn::Arithmetic arithmetic;
  parallel::GradientTravel gradients;  ///< between nodes
  std::int64_t epochs = 0;
  Split split;                    ///< of each sample over ranks
  bool chooses_split = false;     ///< the split is chosen by choose_split()
  double memory_limit_gib = 0.0;  ///< limit for a rank's planned memory; 0: unlimited
};

/// Parses the section "schedule", with the reference's keys: epochs of warm-up from the base rate
/// to the peak, then a decay. A boundary takes effect one epoch later than its number says.
/// `epochs`: the run's limit, where decays end by default. Throws ConfigError.
/// Source: mlcommons/hpc, cosmoflow/utils/optimizers.py.
nn::ScheduleConfig parse_schedule(const base::ObjectReader& in, std::int64_t global_batch,
                                  std::int64_t epochs);
/// The name in configurations: "htd".
const char* decay_name(nn::DecayShape shape);

/// Parses all sections but the optimizer.
Config parse_config(const base::ObjectReader& root);

/// Parses the section "optimizer". The default is the reference's: SGD with momentum 0.9 in Keras's
/// form, and weight decay as a loss term.
std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root);

/// Parses all sections, for `config` and `--dry-run`.
void check_config(const base::ObjectReader& root);

}  // namespace cosmoflow
