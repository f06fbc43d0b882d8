// What benches of training have in common: the steps that they time, and what they tell of them.
// Hides warm-up, the order of measurements and the arithmetic of rates.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "runner/workload.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/layer_bench.h"
#include "workloads/parallel/step_times.h"

namespace parallel {

/// `given` with `usual_batch` where it asks for none. OpenMP has this rank's threads from now on.
runner::BenchOptions prepare_bench(const runner::BenchOptions& given, std::int64_t usual_batch,
                                   const runner::Surroundings& around);

/// As the options of `bench` ("bench dlrm") ask for it; throws ConfigError that names it.
nn::Arithmetic arithmetic_of(const std::string& bench, const runner::BenchOptions& options);

class TrainingBench {
 public:
  /// One update; returns the loss, the sum over this rank's samples.
  using Step = std::function<double()>;
  /// All outlive this. The executor trains options.batch samples of this rank.
  TrainingBench(nn::Executor& executor, const runner::BenchOptions& options,
                const runner::Surroundings& around);
  /// Collective. Steps to warm up, then steps that are timed, with each product alone between them.
  void run(const Step& step);
  /// As of LayerBench.
  void add_seconds(double seconds, const std::string& what) { layers_.add_seconds(seconds, what); }
  /// Collective, after run(). What every bench tells, in which the workload's own `facts` add keys
  /// or replace them, those of "definitions" and other objects one by one.
  nlohmann::json report(const char* workload, const nlohmann::json& facts);

 private:
  nn::Executor& executor_;
  const runner::BenchOptions& options_;
  const runner::Surroundings& around_;
  LayerBench layers_;
  std::optional<StepTimes> times_;  ///< empty before run()
  double loss_ = 0.0;               ///< of the last step
};

}  // namespace parallel
