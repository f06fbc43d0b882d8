// What turns batches of climate samples into updates and scores, for runs and benches.
// Hides the network's input and output.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/deepcam/climate_batches.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/model.h"
#include "workloads/nn/executor/executor.h"

namespace deepcam {

/// Of each class: its published share of all points to the power of -1/8.
const std::array<double, kClasses>& class_weights();

/// Puts a batch into the network's input; slots without a sample are 0.
void load_batch(const ClimateBatch& batch, const dataset::ClimateStatistics& statistics,
                nn::Executor& executor);

/// Sums over samples.
struct Scores {
  double loss = 0.0;  ///< of each sample, the mean over its points
  double iou = 0.0;   ///< of each count, the mean over the classes
  std::int64_t samples = 0;
  std::int64_t counts = 0;  ///< what `iou` is a sum of: samples or batches
  Scores& operator+=(const Scores& other);
};

/// Of the executor's outputs. What `scale` times the loss of a point grows by goes into the output
/// gradient, unless `scale` is 0.
Scores judge(const ClimateBatch& batch, double scale, nn::Executor& executor,
             IouOver over = IouOver::kSample);

}  // namespace deepcam
