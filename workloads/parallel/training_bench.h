// What benches of training have in common: the steps that they time, and what they tell of them.
// Hides warm-up, the order of measurements and the arithmetic of rates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "runner/workload.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/parallel/bench_options.h"
#include "workloads/parallel/layer_bench.h"
#include "workloads/parallel/step_times.h"

namespace parallel {

class TrainingBench {
 public:
  /// One update; returns the loss, the sum over this rank's samples.
  using Step = std::function<double()>;
  /// All outlive this. The executor trains options.batch samples of this rank.
  TrainingBench(nn::Executor& executor, const TrainingOptions& options,
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
  const TrainingOptions& options_;
  const runner::Surroundings& around_;
  LayerBench layers_;
  std::optional<StepTimes> times_;  ///< empty before run()
  double loss_ = 0.0;               ///< of the last step
};

/// A model in training on samples in memory: what the benches of workloads differ in.
class BenchModel {
 public:
  virtual ~BenchModel() = default;
  virtual nn::Executor& executor() = 0;
  /// Collective. One update, as a TrainingBench::Step.
  virtual double step() = 0;
  /// Collective, after `bench` has run. The workload's own facts, for its report.
  virtual nlohmann::json facts(TrainingBench& bench) = 0;
};

/// Makes the model that a bench with these options trains; they outlive it.
using MakeBench = std::function<std::unique_ptr<BenchModel>(const TrainingOptions& options)>;
/// Collective. The whole bench of `workload`; several where options.methods_to names a file. OpenMP
/// has this rank's threads from now on.
nlohmann::json run_bench(const char* workload, const TrainingOptions& options,
                         const runner::Surroundings& around, const MakeBench& make);

/// The bench of a `Model` that is made of (options, around). `own`, which are TrainingOptions and
/// the workload's, are parsed before it runs. A batch of 0 is Model::kUsualBatch.
template <class Model, class Options>
runner::Bench bench_of(const char* workload, const std::shared_ptr<Options>& own) {
  return [=](const runner::BenchOptions& usual, const runner::Surroundings& around) {
    Options options = *own;
    static_cast<runner::BenchOptions&>(options) = usual;
    if (options.batch == 0) options.batch = Model::kUsualBatch;
    return run_bench(workload, options, around, [&](const TrainingOptions& changed) {
      static_cast<TrainingOptions&>(options) = changed;
      return std::make_unique<Model>(options, around);
    });
  };
}

}  // namespace parallel
