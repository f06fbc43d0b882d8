// Timed training steps.
#include "workloads/parallel/training_bench.h"

#include <nlohmann/json.hpp>

#include "workloads/parallel/method_bench.h"
#include "workloads/parallel/thread_team.h"

namespace parallel {

TrainingBench::TrainingBench(nn::Executor& executor, const TrainingOptions& options,
                             const runner::Surroundings& around)
    : executor_(executor),
      options_(options),
      around_(around),
      layers_(executor.network(), options.batch, executor.precision(), options, around.world) {}

void TrainingBench::run(const Step& step) {
  times_.emplace(around_);
  for (std::int64_t i = 0; i < options_.warmup_steps; ++i) loss_ = step();
  times_->begin();
  if (options_.layers) executor_.time_layers();
  for (std::int64_t i = 0; i < options_.steps; ++i) {
    times_->time([&] { loss_ = step(); });
    layers_.add_step(executor_);
    layers_.measure();
  }
}

nlohmann::json TrainingBench::report(const char* workload, const nlohmann::json& facts) {
  const double samples = static_cast<double>(options_.batch * around_.world.size());
  const double samples_per_s = samples / times_->median_s();
  nlohmann::json result = {{"workload", workload},
                           {"batch_per_rank", options_.batch},
                           {"precision", options_.precision},
                           {"products", nn::to_string(executor_.products())},
                           {"steps", options_.steps},
                           {"warmup_steps", options_.warmup_steps},
                           {"definitions", nlohmann::json::object()}};
  add_training_facts(executor_, samples_per_s, loss_, result);
  times_->add_to(result);
  result["definitions"]["products"] =
      "operands of products. In bf16: pairs if oneDNN multiplies pairs of bfloat16 numbers, floats "
      "if it multiplies floats widened from them. In f32: pairs if some layers split each float "
      "into three bfloat16 terms; all other products, and oneDNN's, multiply floats";
  result.merge_patch(facts);
  layers_.finish(executor_, samples_per_s, result);
  if (!options_.methods_output.empty()) result["layer_methods"] = layers_.methods(executor_);
  return result;
}

nlohmann::json run_bench(const char* workload, const TrainingOptions& options,
                         const runner::Surroundings& around, const MakeBench& make) {
  use_threads(around.threads);
  return run_benches(options, around, [&](const TrainingOptions& one) {
    const std::unique_ptr<BenchModel> model = make(one);
    TrainingBench bench(model->executor(), one, around);
    bench.run([&] { return model->step(); });
    return bench.report(workload, model->facts(bench));
  });
}

}  // namespace parallel
