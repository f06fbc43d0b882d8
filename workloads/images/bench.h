// The bench of a network that classifies images.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "workloads/nn/network.h"
#include "workloads/parallel/bench_options.h"

namespace images {

struct BenchOptions : parallel::TrainingOptions {
  std::string bench;  ///< for messages: "bench resnet50"
  std::int64_t image_size = 224;
  std::int64_t classes = 1000;
  /// The network for these options.
  std::function<nn::Network(const BenchOptions&)> network;
};

/// Declares the options that networks share, with the defaults in `own`, and returns the bench.
runner::Bench declare_bench(CLI::App& app, const char* workload,
                            const std::shared_ptr<BenchOptions>& own);

}  // namespace images
