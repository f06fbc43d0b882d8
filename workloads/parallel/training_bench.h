// The common part of the training benches: timed steps and their report.
// Hides warm-up and the order of measurements.
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
  /// One update; returns the sum of the losses of this rank's samples.
  using Step = std::function<double()>;
  /// All outlive this. The executor trains options.batch samples of this rank.
  TrainingBench(nn::Executor& executor, const TrainingOptions& options,
                const runner::Surroundings& around);
  /// Collective. Warm-up steps, then timed steps; times each product alone after each timed step.
  void run(const Step& step);
  /// See LayerBench::add_seconds().
  void add_seconds(double seconds, const std::string& what) { layers_.add_seconds(seconds, what); }
  /// Collective, after run(). The report of every bench, with the workload's `facts` applied as a
  /// JSON merge patch: they add or replace keys, within "definitions" and other objects, too.
  nlohmann::json report(const char* workload, const nlohmann::json& facts);

 private:
  nn::Executor& executor_;
  const TrainingOptions& options_;
  const runner::Surroundings& around_;
  LayerBench layers_;
  std::optional<StepTimes> times_;  ///< empty before run()
  double loss_ = 0.0;               ///< of the last step
};

/// The workload's part of a bench: a model in training on samples in memory.
class BenchModel {
 public:
  virtual ~BenchModel() = default;
  virtual nn::Executor& executor() = 0;
  /// Collective. See TrainingBench::Step.
  virtual double step() = 0;
  /// Collective, after bench.run(). The workload's own facts for the report.
  virtual nlohmann::json facts(TrainingBench& bench) = 0;
};

/// Makes the model to train; the options outlive it.
using MakeBench = std::function<std::unique_ptr<BenchModel>(const TrainingOptions& options)>;
/// Collective. Runs the bench of `workload` and returns its report; see run_benches() for
/// options.methods_output. Sets OpenMP's number of threads to around.threads.
nlohmann::json run_bench(const char* workload, const TrainingOptions& options,
                         const runner::Surroundings& around, const MakeBench& make);

/// A bench of `Model`, which is constructed from (options, around). Options derives from
/// TrainingOptions; the command line is parsed into `own` before the bench runs. A batch of 0 means
/// Model::kUsualBatch.
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
