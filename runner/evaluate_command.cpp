// evaluate: measures the quality of given weights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/commands.h"
#include "runner/config_source.h"
#include "runner/documents.h"
#include "runner/remarks.h"
#include "runner/watched_workload.h"

namespace runner {
namespace {

using base::ExitCode;
using Json = nlohmann::json;

struct EvaluateOptions {
  std::shared_ptr<ConfigSource> source;
  std::string weights;
  std::string outputs, images;
  std::string json;
};

/// Forwards outputs to several sinks.
class Sinks final : public OutputSink {
 public:
  void add(std::unique_ptr<OutputSink> sink) { sinks_.push_back(std::move(sink)); }
  void write(std::int64_t first, std::int64_t width, std::span<const float> outputs,
             std::span<const std::int32_t> labels) override {
    for (const auto& sink : sinks_) sink->write(first, width, outputs, labels);
  }
  void write_targets(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                     std::span<const float> targets) override {
    for (const auto& sink : sinks_) sink->write_targets(first, width, outputs, targets);
  }
  void finish() override {
    for (const auto& sink : sinks_) sink->finish();
  }

 private:
  std::vector<std::unique_ptr<OutputSink>> sinks_;
};

/// Names of the workloads that can draw samples and outputs.
std::string drawing_workloads(const std::vector<WorkloadEntry>& workloads) {
  return names_of(workloads, [](const WorkloadEntry& entry) { return entry.draw != nullptr; });
}

/// Null if no output was requested.
std::unique_ptr<OutputSink> make_sink(const EvaluateOptions& options, const CommandParts& parts) {
  if (options.outputs.empty() && options.images.empty()) return nullptr;
  auto sinks = std::make_unique<Sinks>();
  if (!options.outputs.empty()) sinks->add(parts.make_output_sink(options.outputs));
  if (!options.images.empty()) {
    sinks->add(options.source->entry->draw(*options.source->config, options.images));
  }
  return sinks;
}

void print_quality(double quality, const WorkloadInfo& info, double seconds,
                   const EvaluateOptions& options) {
  const Json result = {{"benchmark", info.benchmark},  {"weights", options.weights},
                       {"metric", info.target.key},    {"value", quality},
                       {"samples", info.eval_samples}, {"seconds", seconds}};
  if (!options.json.empty()) {
    write_document(result, options.json, std::cout);
  } else {
    std::cout << fmt::format("RESULT benchmark={} metric={} value={} unit=1 samples={}\n",
                             info.benchmark, info.target.key, quality, info.eval_samples);
  }
}

ExitCode evaluate(const EvaluateOptions& options, const CommandParts& parts,
                  const Communicator& world) {
  const WatchedWorkload workload(*options.source, world);
  world.activity().enter_phase("initialisation");
  workload->open_evaluation_data();
  workload->initialize();
  workload->load_weights(*parts.make_state_reader(options.weights));

  std::unique_ptr<OutputSink> sink;
  if (world.rank() == 0) sink = make_sink(options, parts);
  world.activity().enter_phase("evaluation");
  const double quality = workload->evaluate(sink.get());
  report_remarks(world, *workload);
  if (sink != nullptr) sink->finish();  // first: the outputs show why a quality is not finite
  if (!std::isfinite(quality)) {
    throw AgreedError(
        base::ExitCode::kData,
        options.weights + ": with these weights the quality is not finite" +
            (options.outputs.empty() ? "" : "; the outputs are in " + options.outputs));
  }
  if (world.rank() == 0) print_quality(quality, workload->info(), workload.wall_s(), options);
  workload.wait_for_all();
  return ExitCode::kSuccess;
}

base::Command evaluate_command(const std::shared_ptr<const CommandParts>& parts) {
  base::Command command;
  command.name = "evaluate";
  command.summary = "evaluation only, of given weights on the whole validation set";
  command.example =
      "trainmark evaluate configs/resnet50/cifar10.json --weights result_1.weights.h5 "
      "--outputs outputs.h5";
  command.needs_mpi = true;
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<EvaluateOptions>();
    options->source = declare_config(app, parts->workloads, [=](const WorkloadEntry& entry) {
      require_outputs(*options->source,
                      {{"--outputs", options->outputs},
                       {"--images", options->images},
                       {"--json", options->json}},
                      {options->weights});
      if (options->images.empty() || entry.draw != nullptr) return;
      throw base::ConfigError(fmt::format("evaluate: --images means nothing to {}, only to {}",
                                          entry.name, drawing_workloads(parts->workloads)));
    });
    app.add_option("--weights", options->weights,
                   "HDF5 file with the parameters under the reference model's names")
        ->required();
    app.add_option(
        "--outputs", options->outputs,
        "write outputs [N, width] and labels of every sample to this HDF5 file: [N], or where "
        "they are numbers as the outputs are, [N, width]");
    app.add_option("--images", options->images,
                   for_whom(drawing_workloads(parts->workloads)) +
                       "write a picture of each sample, what is there above what was found, into "
                       "this folder");
    app.add_option("--json", options->json,
                   "write the result as JSON to this file; '-' for standard output");
    return [options, parts](Communicator* world) { return evaluate(*options, *parts, *world); };
  };
  return command;
}

}  // namespace

std::vector<base::Command> evaluation_commands(const std::shared_ptr<const CommandParts>& parts) {
  return {evaluate_command(parts)};
}

}  // namespace runner
