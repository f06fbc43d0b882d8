// A bench's report on layers and on the limit.
#include "workloads/parallel/layer_bench.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runner/base/median.h"
#include "runner/base/units.h"

namespace parallel {
namespace {

using nlohmann::json;

/// The products of one layer, each timed alone: totals over its passes.
struct Alone {
  double seconds = 0.0;
  std::int64_t flops = 0;
  int passes = 0;
};

std::map<std::string, Alone> by_layer(const std::vector<nn::ProductTime>& times) {
  std::map<std::string, Alone> layers;
  for (const nn::ProductTime& time : times) {
    layers[time.layer].seconds += time.best_s;
    layers[time.layer].flops += time.flops;
    ++layers[time.layer].passes;
  }
  return layers;
}

json limit_definitions(const std::string& other) {
  return {{"limit_samples_per_s",
           "samples of a step over the time of the library's products alone (convolutions, matrix "
           "products): forward, gradients of data and weights, no data gradient of the first "
           "layer, each in the layouts that the library chooses, the best of limit_repetitions, "
           "measured between the steps" +
               (other.empty() ? "" : "; and of " + other) + "; of the slowest rank"},
          {"fraction_of_limit", "samples_per_s over limit_samples_per_s"},
          {"limit_repetitions", "how often each product was measured alone"}};
}

json layer_definitions() {
  return {
      {"layers.forward_ms", "median over the steps, of rank 0; backward_ms likewise"},
      {"layers.megabytes", "operands of a forward pass, each once: what is read and written"},
      {"layers.gflops_per_s", "of all passes of a product in the step"},
      {"layers.limit_ms", "all passes of the product alone, best times"},
      {"layers.moved_megabytes",
       "what a step reads and writes. Products: the operands once in each pass (forward, gradient "
       "of weights, gradient of source). Other layers: the operands forward, their gradients "
       "backward (with the source for a depthwise convolution or a batch norm), and the operands "
       "once more if recomputed. A batch norm sweeps its source once more for its sums, and "
       "backward source and gradient, unless they are still in the caches. Gradients from several "
       "readers of a value are added up"},
      {"layers.bound",
       "compute where the layer's FLOPs at the highest rate of any product take longer than what "
       "it moves at copy_gb_per_s; else memory. Null for layers of FLOPs where no "
       "product was measured"},
      {"layers.bound_ms", "that time"},
      {"copy_gb_per_s",
       "median rate of rank 0's copies between blocks of 256 MiB, one after each step, with "
       "streaming stores where the CPU has avx512; reads and writes both counted"},
      {"layers.fraction_of_bound", "bound_ms over forward_ms and backward_ms together"}};
}

}  // namespace

LayerBench::LayerBench(const nn::Network& network, std::int64_t batch, nn::Precision precision,
                       const runner::BenchOptions& options, const runner::Communicator& world)
    : network_(network), options_(options), world_(world), batch_(batch), precision_(precision) {}

void LayerBench::measure() {
  if (options_.limit_repetitions == 0) return;
  if (!limit_) {
    limit_ = std::make_unique<nn::ProductLimit>(network_, batch_, precision_, device_);
  }
  world_.barrier();
  limit_->measure();
}

void LayerBench::add_step(nn::Executor& executor) {
  if (!options_.layers) return;
  steps_.push_back(executor.take_layer_seconds());
  if (!copies_) {
    copies_ = std::make_unique<nn::CopyBandwidth>(nn::kernels(base::usable_instruction_set()));
  }
  world_.barrier();
  copies_->measure(base::SystemClock());
}

nn::LayerSeconds LayerBench::usual_seconds(std::size_t layer) const {
  std::vector<double> forward, backward;
  for (const std::vector<nn::LayerSeconds>& step : steps_) {
    forward.push_back(step.at(layer).forward);
    backward.push_back(step.at(layer).backward);
  }
  return {base::median_of(std::move(forward)), base::median_of(std::move(backward))};
}

void LayerBench::add_seconds(double seconds, const std::string& what) {
  other_s_ += seconds;
  other_ += (other_.empty() ? "" : " and ") + what;
}

void LayerBench::finish(const nn::Executor& executor, double samples_per_s, json& result) {
  if (limit_) {
    while (limit_->repetitions() < options_.limit_repetitions) measure();
    const auto mine =
        static_cast<std::int64_t>((limit_->seconds() + other_s_) * base::kNsPerSecond);
    const double slowest = static_cast<double>(world_.allreduce_max(mine)) / base::kNsPerSecond;
    const double limit = static_cast<double>(batch_ * world_.size()) / slowest;
    result["limit_samples_per_s"] = limit;
    result["fraction_of_limit"] = samples_per_s / limit;
    result["limit_repetitions"] = limit_->repetitions();
    result["definitions"].update(limit_definitions(other_));
  }
  if (!options_.layers) return;
  result["copy_gb_per_s"] = copies_->usual() / 1e9;
  result["layers"] = layers(executor);
  result["definitions"].update(layer_definitions());
}

json LayerBench::layers(const nn::Executor& executor) const {
  const double bandwidth = copies_->usual();
  std::map<std::string, Alone> alone;
  if (limit_) alone = by_layer(limit_->times());
  double peak = 0.0;  // FLOP/s
  for (const auto& [name, one] : alone) {
    peak = std::max(peak, static_cast<double>(one.flops) / one.seconds);
  }
  json rows = json::array();
  for (const nn::LayerFacts& layer : executor.layers()) {
    const auto [forward, backward] = usual_seconds(rows.size());
    json row = {{"name", layer.name},
                {"implementation", layer.implementation},
                {"forward_ms", 1e3 * forward},
                {"backward_ms", 1e3 * backward},
                {"megabytes", static_cast<double>(layer.operand_bytes) / 1e6},
                {"moved_megabytes", nullptr},
                {"gflops_per_s", nullptr},
                {"limit_ms", nullptr},
                {"bound", nullptr},
                {"bound_ms", nullptr},
                {"fraction_of_bound", nullptr}};
    auto flops = static_cast<double>(layer.training_flops);
    auto bytes = static_cast<double>(layer.moved_bytes);
    if (const auto found = alone.find(layer.name); found != alone.end()) {
      flops = static_cast<double>(found->second.flops);
      bytes = found->second.passes * static_cast<double>(layer.operand_bytes);
      row["gflops_per_s"] = flops / (forward + backward) / 1e9;
      row["limit_ms"] = 1e3 * found->second.seconds;
    }
    row["moved_megabytes"] = bytes / 1e6;
    if (flops == 0.0 || peak > 0.0) {
      const double computing = flops == 0.0 ? 0.0 : flops / peak;
      const double moving = bytes / bandwidth;
      const double bound = std::max(computing, moving);
      row["bound"] = computing > moving ? "compute" : "memory";
      row["bound_ms"] = 1e3 * bound;
      if (forward + backward > 0.0) row["fraction_of_bound"] = bound / (forward + backward);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json LayerBench::methods(const nn::Executor& executor) const {
  json rows = json::array();
  const std::vector<nn::LayerFacts> all = executor.layers();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [forward, backward] = usual_seconds(i);
    for (const nn::ProductMethod& one : all[i].methods) {
      rows.push_back({{"layer", all[i].name},
                      {"product", one.product},
                      {"key", one.key},
                      {"method", one.method},
                      {"permitted", one.permitted},
                      {"forward_ms", 1e3 * forward},
                      {"backward_ms", 1e3 * backward}});
    }
  }
  return rows;
}

void add_training_facts(const nn::Executor& executor, double samples_per_s, double loss,
                        json& result) {
  const std::int64_t flops = executor.training_flops() / executor.batch();
  result.update(json{{"parameters", executor.network().parameter_count()},
                     {"samples_per_s", samples_per_s},
                     {"flops_per_sample", flops},
                     {"gflops_per_s", static_cast<double>(flops) * samples_per_s / 1e9},
                     {"reorders_per_step", executor.reorders_per_step()},
                     {"mean_loss", loss / static_cast<double>(executor.batch())},
                     {"memory_bytes", executor.memory_bytes()}});
  result["definitions"].update(json{
      {"parameters", "trained parameters of the whole model"},
      {"samples_per_s", "samples of one step on all ranks over the median step time"},
      {"flops_per_sample",
       "2 x multiply-accumulates of convolutions, matrix products and interactions: forward, "
       "gradients of weights, and of data but for the first layer"},
      {"gflops_per_s", "flops_per_sample x samples_per_s / 1e9, all ranks"},
      {"reorders_per_step",
       "copies of a tensor into another layout that rank 0 makes in a step between its layers"},
      {"mean_loss", "of rank 0's samples, before the update of the last step"},
      {"memory_bytes",
       "of rank 0's model by purpose, as planned; weights, their copies and the "
       "optimizer's state are there once for all ranks of a node"}});
}

}  // namespace parallel
