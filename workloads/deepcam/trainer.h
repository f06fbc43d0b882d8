// Loading of batches of climate samples into the network, and scores of its outputs, for runs and
// benches.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/deepcam/climate_batches.h"
#include "workloads/deepcam/config.h"
#include "workloads/deepcam/model.h"
#include "workloads/nn/executor/executor.h"

namespace deepcam {

/// Weight of each class: its published share of all pixels to the power of -1/8.
const std::array<double, kClasses>& class_weights();

/// Loads a batch into the network's input; empty slots become 0.
void load_batch(const ClimateBatch& batch, const dataset::ClimateStatistics& statistics,
                nn::Executor& executor);

/// Sums over samples.
struct Scores {
  double loss = 0.0;  ///< sum of each sample's mean over its pixels
  double iou = 0.0;   ///< sum of each count's mean over the classes
  std::int64_t samples = 0;
  std::int64_t counts = 0;  ///< number of terms of `iou`: samples or batches
  Scores& operator+=(const Scores& other);
};

/// Scores the executor's outputs. Unless `scale` is 0, writes the gradient of `scale` times the sum
/// of all pixels' losses to the output gradient.
Scores judge(const ClimateBatch& batch, double scale, nn::Executor& executor,
             IouOver over = IouOver::kSample);

}  // namespace deepcam
