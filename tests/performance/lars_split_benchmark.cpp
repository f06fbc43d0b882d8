// Measures the time saved by dividing LARS's norms and update among the ranks of a node, for
// ResNet-50's parameters. First checks that both settings give the same bits.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "benchmark_report.h"
#include "runner/agreed_error.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/communicator.h"
#include "runner/on_ranks.h"
#include "runner/placement.h"
#include "runner/telemetry/telemetry.h"
#include "runner/together.h"
#include "workloads/nn/onednn.h"
#include "workloads/nn/parameters.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/parameter_memory.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/resnet50/model.h"

namespace {

using base::ExitCode;
using nlohmann::json;

constexpr int kMostRepetitions = 10000;
constexpr int kCheckedSteps = 3;  // of each optimizer; also touch all memory before the timing
constexpr std::uint64_t kSeed = 1;
constexpr double kGradientBound = 0.01;
constexpr std::int64_t kPiece = 16384;  // floats drawn from one random stream
/// Small enough that weights stay finite in all repetitions with the same gradient.
constexpr double kLearningRate = 0.1;
/// As in configs/resnet50/mlperf.json.
constexpr double kMomentum = 0.9, kWeightDecay = 0.0002;

struct Options {
  std::int64_t repetitions = 50;
  std::string output;
};

enum Rule : std::size_t { kLars, kSgd, kRules };
constexpr std::array<const char*, kRules> kNames = {"lars", "sgd"};

std::unique_ptr<nn::Optimizer> make_optimizer(Rule rule) {
  if (rule == kSgd) return nn::make_sgd({.momentum = kMomentum, .weight_decay = kWeightDecay});
  return nn::make_lars({.momentum = kMomentum, .weight_decay = kWeightDecay});
}

std::vector<dnnl::memory::desc> plain_layouts(const nn::Network& network) {
  std::vector<dnnl::memory::desc> layouts;
  for (const nn::ParameterSpec& spec : network.parameters()) {
    layouts.push_back(nn::plain_desc(spec.shape));
  }
  return layouts;
}

/// Draws the same gradient on every rank.
void draw_gradient(const nn::ParameterView& parameter) {
  const std::uint64_t name = base::hash_name(parameter.name);
#pragma omp parallel for schedule(static)
  for (std::int64_t begin = 0; begin < parameter.count; begin += kPiece) {
    base::RandomStream stream(kSeed, base::Purpose::kGenerate,
                              static_cast<std::uint64_t>(begin / kPiece), name);
    const std::int64_t end = std::min(begin + kPiece, parameter.count);
    for (std::int64_t at = begin; at < end; ++at) {
      parameter.gradient[at] = static_cast<float>(stream.uniform(-kGradientBound, kGradientBound));
    }
  }
}

/// The state of an update, without a network: weights, constant gradients, and both optimizers,
/// which update the same weights in turn.
class Replica {
 public:
  Replica(const nn::Network& network, nn::Device& device,
          std::shared_ptr<nn::ParameterMemory> memory)
      : parameters_(network, plain_layouts(network), {}, device, std::move(memory)) {
    parameters_.initialize(kSeed);
    for (const nn::ParameterView& parameter : parameters_.views()) draw_gradient(parameter);
  }

  void prepare(const nn::UpdateShare& share) {
    for (std::size_t rule = 0; rule < kRules; ++rule) {
      optimizers_[rule] = make_optimizer(static_cast<Rule>(rule));
      optimizers_[rule]->prepare(parameters_.views(), share);
    }
  }

  /// One update, as in parallel::DataParallel::step().
  void step(Rule rule) {
    optimizers_[rule]->step(parameters_.views(), kLearningRate);
    parameters_.publish();
  }

  /// All arrays that steps change, by name.
  std::vector<std::pair<std::string, std::span<const float>>> results() const {
    std::vector<std::pair<std::string, std::span<const float>>> all;
    for (const nn::ParameterView& view : parameters_.views()) {
      all.emplace_back("weights/" + view.name,
                       std::span(view.weights, static_cast<std::size_t>(view.count)));
    }
    for (std::size_t rule = 0; rule < kRules; ++rule) {
      for (const nn::StateView& state : optimizers_[rule]->state()) {
        all.emplace_back(fmt::format("{}: {}", kNames[rule], state.name), state.values);
      }
    }
    return all;
  }

 private:
  nn::Parameters parameters_;
  std::array<std::unique_ptr<nn::Optimizer>, kRules> optimizers_;
};

/// Two settings: split() is one copy for all ranks of the node, each of which updates its part;
/// whole() is a private copy on each rank, which updates all of it. On one rank they differ only in
/// their memory: shared memory may have small pages.
class Settings {
 public:
  /// Collective. `node` outlives this.
  explicit Settings(const runner::Communicator& node)
      : network_(resnet50::build_network({})),
        shared_(std::make_shared<parallel::NodeMemory>(node)),
        split_(network_, device_, shared_),
        whole_(network_, device_, std::make_shared<nn::PrivateMemory>()),
        telemetry_(clock_),
        exchange_(node, node, telemetry_, shared_->blocks_of_all()) {
    // The division is that of training (parallel::DataParallel::initialize()).
    split_.prepare({shared_,
                    [this](std::int64_t offset) { return exchange_.is_mine(offset); },
                    {},
                    [&node](std::span<double> parts) { node.allreduce_sum(parts); },
                    {}});
    whole_.prepare({});
  }

  std::int64_t parameter_count() const { return network_.parameter_count(); }
  Replica& split() { return split_; }
  Replica& whole() { return whole_; }

 private:
  nn::Network network_;
  nn::Device device_;
  std::shared_ptr<parallel::NodeMemory> shared_;
  Replica split_, whole_;
  base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  parallel::GradientExchange exchange_;
};

/// Throws Error(kInternal) for the first array whose bits differ.
void require_same_bits(const Replica& split, const Replica& whole) {
  const auto found = split.results(), expected = whole.results();
  if (found.size() != expected.size()) {
    throw base::Error(ExitCode::kInternal,
                      fmt::format("split update: expected {} arrays as in the whole one, got {}",
                                  expected.size(), found.size()));
  }
  for (std::size_t array = 0; array < found.size(); ++array) {
    const auto& [name, values] = found[array];
    const std::span<const float> others = expected[array].second;
    if (values.size() == others.size() &&
        std::memcmp(values.data(), others.data(), values.size_bytes()) == 0) {
      continue;
    }
    throw base::Error(
        ExitCode::kInternal,
        fmt::format("{} after {} steps of each optimizer: expected the same bits of the update "
                    "that ranks share out and of the one that each does by itself; they differ",
                    name, kCheckedSteps));
  }
}

/// Collective. Throws on every rank if the settings differ on any rank.
void check(Settings& settings, const runner::Communicator& world) {
  for (int step = 0; step < kCheckedSteps; ++step) {
    for (const Rule rule : {kLars, kSgd}) {
      settings.split().step(rule);
      settings.whole().step(rule);
    }
  }
  runner::together(world, [&] { require_same_bits(settings.split(), settings.whole()); });
}

/// Collective. One step; returns the seconds of the slowest rank.
double timed_step(Replica& replica, Rule rule, const runner::Communicator& world,
                  const base::Clock& clock) {
  world.barrier();
  const std::int64_t began = clock.steady_ns();
  replica.step(rule);
  return static_cast<double>(world.allreduce_max(clock.steady_ns() - began)) / 1e9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

/// Seconds of one optimizer's steps, by repetition.
struct Times {
  std::vector<double> split, whole;
};

/// Collective. Alternates between the settings, so that no step finds its data in a cache.
std::array<Times, kRules> measure(Settings& settings, std::int64_t repetitions,
                                  const runner::Communicator& world) {
  const base::SystemClock clock;
  std::array<Times, kRules> times;
  for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
    for (const Rule rule : {kLars, kSgd}) {
      times[rule].split.push_back(timed_step(settings.split(), rule, world, clock));
      times[rule].whole.push_back(timed_step(settings.whole(), rule, world, clock));
    }
  }
  return times;
}

/// Medians of both settings. The cost of the norms is not timed on its own; it is the difference
/// between LARS and SGD.
json summarize(const std::array<Times, kRules>& times) {
  json report;
  for (const Rule rule : {kLars, kSgd}) {
    const double split = median(times[rule].split), whole = median(times[rule].whole);
    report[kNames[rule]] = {{"median_split_s", split},
                            {"median_whole_s", whole},
                            {"saved_s", whole - split},
                            {"ratio_whole_to_split", whole / split}};
  }
  const auto difference = [&report](const char* key) {
    return report["lars"][key].get<double>() - report["sgd"][key].get<double>();
  };
  report["difference_of_medians_lars_minus_sgd"] = {{"split_s", difference("median_split_s")},
                                                    {"whole_s", difference("median_whole_s")}};
  return report;
}

/// Collective. Sets the number of threads of each rank as the program would, and returns it.
int set_threads(const runner::Communicator& world) {
  const runner::ThreadPlan plan = runner::take_place({}, 0, world, world).threads;
  const std::string over = runner::oversubscription(plan, world);
  if (!over.empty()) std::cerr << "WARNING: " << over << '\n';
  omp_set_dynamic(0);
  omp_set_num_threads(plan.threads);
  return plan.threads;
}

ExitCode run(const Options& options, const runner::Communicator& world) {
  if (const runner::Communicator node = world.split_node(); node.size() != world.size()) {
    throw runner::AgreedError(ExitCode::kUsage, fmt::format("expected {} ranks on one node, got {}",
                                                            world.size(), node.size()));
  }
  const int threads = set_threads(world);
  Settings settings(world);
  check(settings, world);
  json report = summarize(measure(settings, options.repetitions, world));
  report["ranks"] = world.size();
  report["threads_per_rank"] = threads;
  report["parameters"] = settings.parameter_count();
  report["repetitions"] = options.repetitions;
  finish_report(
      std::move(report),
      {"cpu_model", "cores", "memory_bytes", "instruction_set", "kernel", "operating_system"},
      options.output, world);
  return ExitCode::kSuccess;
}

std::string refuse_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path folder = fs::absolute(path, none).parent_path();
  if (!path.empty() && !fs::is_directory(path, none) && fs::is_directory(folder, none)) return "";
  return fmt::format("expected a file in a folder that exists, got '{}'", path);
}

/// The exit status if the program ends after parsing: help, or a usage error.
std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  CLI::App app(
      "Times a step of LARS and of SGD on ResNet-50's parameters, shared out among the ranks of a "
      "node and done whole by each, after it has shown that both give the same bits. Prints JSON.",
      "lars_split_benchmark");
  app.add_option("--repetitions", options.repetitions, "timed steps of each kind")
      ->check(CLI::Range(1, kMostRepetitions))
      ->capture_default_str();
  app.add_option("--output", options.output, "write the JSON to this file, too")
      ->check(refuse_folder);
  app.footer("Example:\n  mpirun -n 2 --bind-to none lars_split_benchmark --repetitions 20");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitCode::kSuccess : ExitCode::kUsage;
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const auto status = parse(argc, argv, options)) return static_cast<int>(*status);
  return runner::run_on_ranks(
      argc, argv, [&options](runner::Communicator* world) { return run(options, *world); });
}
