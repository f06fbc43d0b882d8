// The keys of a DeepCAM configuration beyond those of every workload.
// Hides their names, defaults and checks.
#pragma once

#include <cstdint>
#include <memory>

#include "runner/base/object_reader.h"
#include "staging/staging_config.h"
#include "workloads/deepcam/data_config.h"
#include "workloads/deepcam/model.h"
#include "workloads/nn/precision.h"
#include "workloads/nn/recompute.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/data_parallel.h"

namespace deepcam {

/// What intersections and unions are counted over, before their mean is taken.
enum class IouOver { kSample, kBatch };

struct Config : parallel::UpdateKeys {
  ModelConfig model;
  DataConfig data;
  staging::StagingConfig staging;
  nn::ScheduleConfig schedule;
  std::int64_t bn_group_ranks = 1;  ///< neighbouring ranks that share statistics
  nn::Arithmetic arithmetic;
  nn::Recompute recompute = nn::Recompute::kNormalizations;
  IouOver iou = IouOver::kSample;
  std::int64_t epochs = 0;
};

/// The section "schedule", whose keys are those of the reference's schedulers: warm-up of
/// nn::Rise::kFactor, then steps or a periodic cosine from it on. Throws ConfigError.
/// Source: mlcommons/hpc, deepcam/src/deepCam/utils/schedulers.py.
nn::ScheduleConfig parse_schedule(const base::ObjectReader& in);
/// As the configuration has it: "multistep".
const char* scheduler_type(nn::DecayShape shape);

/// Reads all sections but the optimizer.
Config parse_config(const base::ObjectReader& root);

/// From the section "optimizer"; without a name LAMB, as the reference convergence points have it.
std::unique_ptr<nn::Optimizer> make_optimizer(const base::ObjectReader& root);

/// Reads all sections: what `config` and `--dry-run` check.
void check_config(const base::ObjectReader& root);

/// Throws ConfigError where the ranks do not divide into groups of batch norm, or those do not have
/// equally many samples.
parallel::DataParallelConfig data_parallel_config(const Config& config, int ranks);

}  // namespace deepcam
