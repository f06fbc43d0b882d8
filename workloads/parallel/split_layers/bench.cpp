// The command `bench split-layers`.
#include "workloads/parallel/split_layers/bench.h"

#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/median.h"
#include "runner/base/printable.h"
#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "runner/base/units.h"
#include "runner/together.h"
#include "staging/space.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/split_layers/plan_table.h"
#include "workloads/parallel/split_layers/planner.h"
#include "workloads/parallel/split_layers/split_model.h"

namespace split_layers_bench {
namespace {

using nlohmann::json;
using parallel::ChainDistribution;
using parallel::SplitModel;
using parallel::SplitPlan;
using runner::Surroundings;

/// The version of the document.
constexpr int kSchema = 1;
constexpr std::uint64_t kSeed = 1;
constexpr double kMegabyte = 1e6;
constexpr double kLearningRate = 1e-5, kMomentum = 0.9;
constexpr int kStateBuffers = 1;  // the momentum
/// Most relative difference of what the steps took off the losses: sums in another order.
constexpr double kLossTolerance = 0.01;

struct Options {
  std::string network = "alexnet";
  std::vector<std::int64_t> widths = {4096, 4096, 4096, 1000};
  std::int64_t batch = 64, steps = 3;
  int group = 0;     ///< 0: as planned
  int plan_for = 0;  ///< ranks to plan for, without training; 0: trains on the ranks there are
  bool is_apart = false;
};

parallel::Chain chain_of(const Options& options) {
  if (options.network == "alexnet") return parallel::alexnet();
  if (options.network == "vgg16") return parallel::vgg16();
  return parallel::perceptron(options.widths);
}

std::int64_t classes_of(const parallel::Chain& chain) {
  return parallel::shapes_of(chain).back().channels;
}

void check(const Options& options, bool has_widths, bool has_training_options) {
  if (options.plan_for > 0 && has_training_options) {
    throw base::ConfigError(
        "bench split-layers: --plan-for trains nothing: --steps, --group and --apart mean nothing");
  }
  if (has_widths && options.network != "perceptron") {
    throw base::ConfigError("bench split-layers: --widths: only with --network perceptron");
  }
  const parallel::Chain chain = chain_of(options);
  if (classes_of(chain) >= 2) return;
  throw base::ConfigError(
      "bench split-layers: --widths: expected at least 2 outputs of the last layer");
}

/// A model in training, and what was measured of it.
struct Trained {
  std::string name;
  ChainDistribution distribution;
  std::unique_ptr<SplitModel> model;
  std::vector<float> samples;  ///< of this rank
  std::vector<double> seconds;
  double exposed_s = 0.0;               ///< over all timed steps, of this rank
  std::int64_t bytes_sent = 0;          ///< likewise
  double first_loss = 0.0, loss = 0.0;  ///< mean of the first and the last step, over all ranks
};

/// Samples of the global batch, drawn from their number alone.
std::vector<float> draw(parallel::Range samples, std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(samples.count() * size));
#pragma omp parallel for schedule(static)
  for (std::int64_t sample = samples.begin; sample < samples.end; ++sample) {
    base::RandomStream stream(kSeed, base::Purpose::kGenerate, 0,
                              static_cast<std::uint64_t>(sample));
    float* const to = values.data() + (sample - samples.begin) * size;
    for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<float>(stream.uniform(-1.0, 1.0));
  }
  return values;
}

parallel::DataParallelConfig config_of(const Options& options) {
  parallel::DataParallelConfig config;
  config.global_batch = options.batch;
  config.instruction_set = base::usable_instruction_set();
  config.gradients.late_update = false;  // each step ends before the other model's begins
  return config;
}

class Bench {
 public:
  Bench(const Options& options, const Surroundings& around)
      : options_(options),
        around_(around),
        chain_(chain_of(options)),
        classes_(classes_of(chain_)),
        apart_(around.world.split(around.world.rank(), 0)) {}

  /// Collective.
  void add(const std::string& name, const ChainDistribution& distribution) {
    Trained& trained = models_.emplace_back();
    trained.name = name;
    trained.distribution = distribution;
    trained.model = std::make_unique<SplitModel>(
        chain_, distribution, config_of(options_),
        [] {
          nn::SgdConfig sgd;
          sgd.momentum = kMomentum;
          return nn::make_sgd(sgd);
        },
        around_.world, options_.is_apart ? apart_ : around_.topology.node, around_.telemetry);
    trained.model->initialize(kSeed);
  }

  /// Collective. The models take turns; the first step of each is not counted.
  void run() {
    for (std::int64_t step = 0; step <= options_.steps; ++step) {
      for (Trained& trained : models_) time_step(trained, step > 0);
    }
  }

  const std::vector<Trained>& models() const { return models_; }

 private:
  void time_step(Trained& trained, bool is_counted) {
    telemetry::Telemetry& telemetry = around_.telemetry;
    around_.world.barrier();
    const std::int64_t sent = telemetry.count(telemetry::Counter::kBytesSent);
    const double exposed = telemetry.seconds(telemetry::Subsystem::kExchange);
    telemetry.begin_step();
    double loss = train(trained);
    const std::int64_t took = telemetry.end_step();
    if (is_counted) {
      trained.bytes_sent += telemetry.count(telemetry::Counter::kBytesSent) - sent;
      trained.exposed_s += telemetry.seconds(telemetry::Subsystem::kExchange) - exposed;
    }
    const double seconds = static_cast<double>(around_.world.allreduce_max(took));
    if (is_counted) trained.seconds.push_back(seconds / base::kNsPerSecond);
    around_.world.allreduce_sum(std::span(&loss, 1));
    trained.loss = loss / static_cast<double>(options_.batch);
    if (!is_counted) trained.first_loss = trained.loss;
  }

  /// The sum of the losses of this rank's samples, of which alike ranks take a share each.
  double train(Trained& trained) {
    double loss = 0.0;
    trained.model->step(
        [&](parallel::Range samples, std::span<float> values) {
          if (trained.samples.empty()) trained.samples = draw(samples, chain_.input.size());
          std::ranges::copy(trained.samples, values.begin());
        },
        [&](parallel::Range samples, std::span<const float> outputs, std::span<float> gradient) {
          std::vector<std::int32_t> labels;
          for (std::int64_t i = samples.begin; i < samples.end; ++i) {
            labels.push_back(static_cast<std::int32_t>(i % classes_));
          }
          const nn::LossSums sums = nn::softmax_cross_entropy(
              outputs, labels, 0.0, 1.0 / static_cast<double>(options_.batch), gradient);
          loss += sums.loss / trained.distribution.loss.group;
        },
        kLearningRate);
    trained.model->finish_update();
    return loss;
  }

  const Options& options_;
  const Surroundings& around_;
  const parallel::Chain chain_;
  const std::int64_t classes_;
  const runner::Communicator apart_;
  std::vector<Trained> models_;
};

/// Collective. Mean over ranks.
double mean_of(const runner::Communicator& world, double value) {
  world.allreduce_sum(std::span(&value, 1));
  return value / world.size();
}

/// Collective.
json json_of(const Trained& trained, const Surroundings& around) {
  const int ranks = around.world.size();
  const auto steps = static_cast<double>(trained.seconds.size());
  json layers = json::array();
  for (const parallel::Distribution& one : trained.distribution.layers) {
    layers.push_back(to_string(one, ranks));
  }
  return {{"name", trained.name},
          {"layers", layers},
          {"step_s", {{"median", base::median_of(trained.seconds)}, {"times", trained.seconds}}},
          {"exposed_s", mean_of(around.world, trained.exposed_s / steps)},
          {"sent_bytes", mean_of(around.world, static_cast<double>(trained.bytes_sent) / steps)},
          {"first_loss", trained.first_loss},
          {"loss", trained.loss}};
}

json definitions() {
  json all = plan_definitions();
  all.update(json{
      {"layers", "data parts x feature parts of each layer with weights"},
      {"step_s", "wall time of a training step on its slowest rank; the models take turns"},
      {"exposed_s",
       "a rank's time in exchanges that nothing hides, packing and adding included, mean over "
       "ranks and steps; each step ends with its update"},
      {"sent_bytes",
       "bytes that a rank gives to exchanges in a step, mean: to MPI, and of gradients that ranks "
       "of a node add up in shared memory, all"},
      {"first_loss", "mean over the samples of the first step, which is not timed"},
      {"loss", "mean over the samples of the last step"}});
  return all;
}

json settings_of(const Options& options) {
  return {{"widths", options.network == "perceptron" ? json(options.widths) : json()},
          {"steps", options.steps},
          {"group", options.group > 0 ? json(options.group) : json()},
          {"apart", options.is_apart},
          {"optimizer", "sgd"},
          {"learning_rate", kLearningRate},
          {"momentum", kMomentum},
          {"seed", kSeed},
          {"instruction_set", base::to_string(base::usable_instruction_set())}};
}

/// Why these results cannot be trusted; null if they can.
json failure_of(const std::vector<Trained>& models) {
  const Trained &one = models.front(), &other = models.back();
  const double learned = other.first_loss - other.loss;
  const double difference = one.first_loss - one.loss - learned;
  if (std::isfinite(learned) && learned != 0.0 &&
      std::abs(difference) <= kLossTolerance * std::abs(learned)) {
    return {};
  }
  return fmt::format(
      "bench split-layers: the same steps took the loss from {:.7g} to {:.7g} ({}) and from {:.7g} "
      "to {:.7g} ({})",
      one.first_loss, one.loss, one.name, other.first_loss, other.loss, other.name);
}

void print(const json& models, std::ostream& out) {
  out << fmt::format("{:<16}{:>12}{:>14}{:>12}{:>12}\n", "measured", "step ms", "exposed ms",
                     "sent MB", "loss");
  for (const json& one : models) {
    out << fmt::format("{:<16}{:>12.1f}{:>14.1f}{:>12.2f}{:>12.5f}\n",
                       one["name"].get<std::string>(),
                       one["step_s"]["median"].get<double>() / base::kMillisecond,
                       one["exposed_s"].get<double>() / base::kMillisecond,
                       one["sent_bytes"].get<double>() / kMegabyte, one["loss"].get<double>());
  }
}

/// Collective. Throws AgreedError for samples that no plan of memory takes, and where models in
/// training do not fit the memory of a node.
void require_fit(const parallel::Chain& chain, const Options& options,
                 const std::vector<ChainDistribution>& models, const Surroundings& around) {
  const int ranks = around.world.size();
  double needed = 0.0;
  runner::together(around.world, [&] {
    for (const ChainDistribution& one : models) {
      for (const parallel::Distribution& layer : one.layers) {
        const std::int64_t most = options.batch / layer.data_parts(ranks);
        if (most < parallel::kMostPassSamples) continue;
        throw base::ConfigError(
            fmt::format("bench split-layers: --batch: expected less than {} samples for each part "
                        "of the data, got {}",
                        parallel::kMostPassSamples, most));
      }
      for (const auto& [purpose, bytes] : parallel::memory_bytes(
               chain, one, config_of(options), kStateBuffers, around.world.rank(), ranks)) {
        needed += static_cast<double>(bytes);
      }
      needed += static_cast<double>(options.batch / ranks * chain.input.size()) * sizeof(float);
    }
  });
  around.topology.node.allreduce_sum(std::span(&needed, 1));
  runner::together(around.world, [&] {
    const std::int64_t available = staging::available_memory();
    if (needed <= static_cast<double>(available)) return;
    throw base::ConfigError(fmt::format(
        "bench split-layers: {} ranks of {} take up to {} for training, of which {} are available; "
        "--batch takes fewer samples, --plan-for plans without training",
        around.topology.node.size(), base::host_name(), base::bytes_text(needed),
        base::bytes_text(available)));
  });
}

json measure(const Options& options, const Surroundings& around, std::ostream& table) {
  const int ranks = options.plan_for > 0 ? options.plan_for : around.world.size();
  const parallel::Chain chain = chain_of(options);
  const SplitPlan plan = parallel::plan_layers(chain, options.batch, ranks);
  const bool prints = around.world.rank() == 0;
  if (prints) table << plan_text(options.network, plan, options.batch, ranks);
  json document = {{"schema", kSchema},
                   {"kind", "split-layers"},
                   {"network", options.network},
                   {"batch", options.batch},
                   {"ranks", ranks},
                   {"nodes", around.topology.node_count},
                   {"threads_per_rank", around.threads},
                   {"settings", settings_of(options)},
                   {"plan", plan_json(chain, plan, options.batch, ranks)},
                   {"models", json::array()},
                   {"definitions", definitions()},
                   {"failure", nullptr}};
  if (options.plan_for > 0) return document;
  omp_set_num_threads(around.threads);
  const auto by = [&](int group) {
    return parallel::distribution_by(chain, options.batch, ranks, group);
  };
  const ChainDistribution data = by(1);
  const ChainDistribution chosen = options.group > 0 ? by(options.group) : plan.distribution;
  const bool is_other = chosen.layers != data.layers;
  require_fit(chain, options, is_other ? std::vector{chosen, data} : std::vector{data}, around);
  Bench bench(options, around);
  if (is_other) bench.add(options.group > 0 ? "as asked" : "as planned", chosen);
  bench.add("data parallel", data);
  bench.run();
  for (const Trained& trained : bench.models()) {
    document["models"].push_back(json_of(trained, around));
  }
  document["failure"] = failure_of(bench.models());
  if (prints) print(document["models"], table);
  return document;
}

runner::DeclaredMachineBench declare(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  constexpr std::int64_t kMostSamples = 1 << 20, kMostSteps = 1'000'000;
  constexpr int kMostRanks = 1024;
  app.add_option("--network", options->network,
                 "alexnet, vgg16 (224 x 224 pixels, 1000 classes), or perceptron")
      ->check(CLI::IsMember({"alexnet", "vgg16", "perceptron"}))
      ->capture_default_str();
  CLI::Option* const widths =
      app.add_option("--widths", options->widths,
                     "of a perceptron: its inputs, then the outputs of each layer")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}))
          ->delimiter(',')
          ->capture_default_str();
  app.add_option("--batch", options->batch, "samples of a step, on all ranks")
      ->check(CLI::Range(std::int64_t{1}, kMostSamples))
      ->capture_default_str();
  CLI::Option* const steps =
      app.add_option("--steps", options->steps, "timed steps of each model, after one that is not")
          ->check(CLI::Range(std::int64_t{1}, kMostSteps))
          ->capture_default_str();
  CLI::Option* const group =
      app.add_option("--group", options->group,
                     "ranks that split each layer's features, at most; by default as planned")
          ->check(CLI::Range(1, kMostRanks));
  app.add_option("--plan-for", options->plan_for, "only plans, for this number of ranks")
      ->check(CLI::Range(1, kMostRanks));
  CLI::Option* const apart =
      app.add_flag("--apart", options->is_apart,
                   "ranks of a node exchange gradients by MPI, as if each had a node of its own");
  return {[=] {
            check(*options, widths->count() > 0,
                  steps->count() + group->count() + apart->count() > 0);
          },
          [options](const Surroundings& around, std::ostream& table) {
            return measure(*options, around, table);
          }};
}

}  // namespace

runner::MachineBench bench() {
  return {"split-layers",
          "layers whose feature maps ranks split: the plan, and steps beside data parallel",
          "--network alexnet --batch 64", declare};
}

}  // namespace split_layers_bench
