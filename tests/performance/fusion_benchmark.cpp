// Measures what it saves to send the gradients of many tensors together, for ResNet-50's
// parameters between nodes. Checks the sums of each way first.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "benchmark_report.h"
#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/median.h"
#include "runner/communicator.h"
#include "runner/exact_terms.h"
#include "runner/on_ranks.h"
#include "runner/telemetry/telemetry.h"
#include "runner/together.h"
#include "workloads/parallel/gradient_exchange.h"
#include "workloads/parallel/node_memory.h"
#include "workloads/resnet50/model.h"

namespace {

using base::ExitCode;
using nlohmann::json;

struct Options {
  std::int64_t repetitions = 7;
  std::string output;
};

/// The gradients of a rank, and four ways to sum them over all. Each rank counts as a node.
class Gradients {
 public:
  /// Collective. `world` outlives this.
  explicit Gradients(const runner::Communicator& world)
      : world_(world),
        node_(world.split(world.rank(), 0)),
        telemetry_(clock_),
        memory_(parallel::make_memory(node_)) {
    std::int64_t floats = 0;
    const nn::Network network = resnet50::build_network({});
    for (const nn::ParameterSpec& spec : network.parameters()) {
      sizes_.push_back(spec.count());
      floats += sizes_.back();
    }
    values_ = memory_->own_block(floats);
    for (const bool last_first : {false, true}) {
      exchanges_.push_back(std::make_unique<parallel::GradientExchange>(
          world, node_, telemetry_, memory_->blocks_of_all(),
          parallel::GradientTravel{.late_update = last_first}));
    }
  }

  std::size_t tensors() const { return sizes_.size(); }
  std::int64_t bytes() const { return std::ssize(values_) * std::int64_t{sizeof(float)}; }
  std::int64_t piece_bytes() const {
    return exchanges_.front()->cut().floats * std::int64_t{sizeof(float)};
  }
  void fill() {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = runner::ExactTerms::of(world_.rank(), i);
    }
  }

  /// The blocking call of MPI for each tensor, one after the other.
  void sum_one_by_one() {
    for_each_tensor([this](std::span<float> tensor) { world_.allreduce_sum(tensor); });
  }
  /// A sum for each tensor, all under way at once.
  void sum_beside_each_other() {
    std::vector<runner::Pending> pending;
    for_each_tensor(
        [&](std::span<float> tensor) { pending.push_back(world_.start_allreduce_sum(tensor)); });
    for (runner::Pending& one : pending) one.wait();
  }
  /// As training does: pieces of one size, whatever tensors they are of.
  void sum_together() { sum_by(*exchanges_.front()); }
  /// As training does by default: the last pieces overtake the others.
  void sum_last_first() { sum_by(*exchanges_.back()); }

  /// The first float that is not the sum over the ranks; all of them are if it is the last's end.
  std::size_t first_wrong() const {
    const runner::ExactTerms terms(world_.size());
    std::size_t i = 0;
    while (i < values_.size() && values_[i] == terms.sum(i)) ++i;
    return i;
  }
  std::size_t floats() const { return values_.size(); }

 private:
  void sum_by(parallel::GradientExchange& exchange) const {
    exchange.begin();
    exchange.gradients_ready(std::ssize(values_));
    exchange.finish();
  }
  template <class Use>
  void for_each_tensor(Use use) {
    std::span<float> left = values_;
    for (const std::int64_t size : sizes_) {
      use(left.first(static_cast<std::size_t>(size)));
      left = left.subspan(static_cast<std::size_t>(size));
    }
  }

  const runner::Communicator& world_;
  const runner::Communicator node_;
  const base::SystemClock clock_;
  telemetry::Telemetry telemetry_;
  const std::shared_ptr<nn::ParameterMemory> memory_;
  std::vector<std::int64_t> sizes_;
  std::span<float> values_;
  std::vector<std::unique_ptr<parallel::GradientExchange>> exchanges_;
};

struct Way {
  const char* name;
  void (Gradients::*sum)();
};
constexpr std::array<Way, 4> kWays = {{{"tensors_one_by_one", &Gradients::sum_one_by_one},
                                       {"tensors_at_once", &Gradients::sum_beside_each_other},
                                       {"pieces", &Gradients::sum_together},
                                       {"pieces_last_first", &Gradients::sum_last_first}}};

/// Collective. Seconds of the slowest rank, by way and repetition; all ways take turns.
std::array<std::vector<double>, kWays.size()> measure(Gradients& gradients,
                                                      std::int64_t repetitions,
                                                      const runner::Communicator& world) {
  const base::SystemClock clock;
  std::array<std::vector<double>, kWays.size()> seconds;
  // The first of each warms up, and is checked.
  for (std::int64_t repetition = 0; repetition <= repetitions; ++repetition) {
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      gradients.fill();
      world.barrier();
      const std::int64_t began = clock.steady_ns();
      (gradients.*kWays[way].sum)();
      const std::int64_t took = world.allreduce_max(clock.steady_ns() - began);
      if (repetition > 0) {
        seconds[way].push_back(static_cast<double>(took) * 1e-9);
        continue;
      }
      runner::together(world, [&] {
        const std::size_t wrong = gradients.first_wrong();
        if (wrong == gradients.floats()) return;
        throw base::Error(ExitCode::kInternal,
                          fmt::format("{}: float {} is not the sum", kWays[way].name, wrong));
      });
    }
  }
  return seconds;
}

ExitCode run(const Options& options, const runner::Communicator& world) {
  omp_set_num_threads(1);
  Gradients gradients(world);
  const auto seconds = measure(gradients, options.repetitions, world);
  json report = {{"ranks", world.size()},
                 {"nodes", runner::discover_topology(world).node_count},
                 {"tensors", gradients.tensors()},
                 {"bytes", gradients.bytes()},
                 {"piece_bytes", gradients.piece_bytes()}};
  for (std::size_t way = 0; way < kWays.size(); ++way) {
    report["median_s"][kWays[way].name] = base::median_of(seconds[way]);
    report["seconds"][kWays[way].name] = seconds[way];
  }
  finish_report(std::move(report), {"cpu_model", "cores", "kernel"}, options.output, world);
  return ExitCode::kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Times the sum of ResNet-50's gradients over all ranks, one of them on each node: tensor by "
      "tensor with a blocking call each, a sum for each tensor all at once, and in pieces, in "
      "order and so that the last overtake the others as in training. Prints JSON.",
      "fusion_benchmark");
  app.add_option("--repetitions", options.repetitions, "timed sums of each kind")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--output", options.output, "write the JSON to this file, too");
  app.footer(
      "Example, on two hosts of this machine, from one to the other of which packets take 1 ms:\n"
      "  DELAY=0.0005 tests/hosts.sh 2 unlimited mpirun -n 2 --host host1:1,host2:1 "
      "fusion_benchmark");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  return runner::run_on_ranks(
      argc, argv, [&options](runner::Communicator* world) { return run(options, *world); });
}
