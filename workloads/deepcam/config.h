// The keys of a DeepCAM configuration beyond those of every workload.
#pragma once

#include <cstdint>
#include <memory>

#include "runner/base/object_reader.h"
#include "staging/cache/cache_config.h"
#include "staging/staging_config.h"
#include "workloads/deepcam/data_config.h"
#include "workloads/deepcam/model.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/recompute.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/data_parallel.h"
#include "workloads/parallel/gradient_travel.h"

namespace deepcam {

/// The set over which intersections and unions are counted before the mean is taken.
enum class IouOver { kSample, kBatch };

struct Config : parallel::UpdateKeys {
  ModelConfig model;
  DataConfig data;
  staging::StagingConfig staging;
  cache::CacheConfig cache;
  nn::ScheduleConfig schedule;
  std::int64_t bn_group_ranks = 1;  ///< consecutive ranks that share statistics
  nn::Arithmetic arithmetic;
  parallel::GradientTravel gradients;  ///< between nodes
  nn::Recompute recompute = nn::Recompute::kNormalizations;
  IouOver iou = IouOver::kSample;
  std::int64_t epochs = 0;
};

/// Parses the section "schedule", with the keys of the reference's schedulers: warm-up as in
/// nn::Rise::kFactor, then steps or a periodic cosine. Throws ConfigError.
/// Source: mlcommons/hpc, deepcam/src/deepCam/utils/schedulers.py.
nn::ScheduleConfig parse_schedule(const base::ObjectReader& in);
/// The name in configurations: "multistep".
const char* scheduler_type(nn::DecayShape shape);

/// Parses all sections but the optimizer.
Config parse_config(const base::ObjectReader& root);

/// Parses the section "optimizer". The default is LAMB, as in the reference convergence points.
std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root);

/// Parses all sections, for `config` and `--dry-run`.
void check_config(const base::ObjectReader& root);

/// Throws ConfigError when the ranks do not divide into batch-norm groups, or the samples of a pass
/// do not divide equally among the groups.
parallel::DataParallelConfig data_parallel_config(const Config& config, int ranks);

}  // namespace deepcam
