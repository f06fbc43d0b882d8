// The options of scale.
#include "runner/scale/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "runner/base/json_text.h"
#include "runner/base/replaced_file.h"
#include "runner/config_source.h"
#include "runner/placement.h"
#include "runner/scale/table.h"

namespace scale {
namespace {

using base::ExitCode;

struct Options {
  std::shared_ptr<runner::ConfigSource> source;
  std::vector<runner::WorkloadEntry> workloads;
  std::vector<std::int64_t> batches;
  std::vector<int> ranks = {1};
  int ranks_per_node = 1;
  double rate = 0;
  std::string measured, link, latency, exchange;
  std::string json, csv;
};

Rates rates_of(const Options& options) {
  Rates rates;
  if (options.rate > 0) rates.compute = ComputeRate{options.rate, "--rate", 0, ""};
  if (!options.measured.empty()) rates.compute = read_compute_rate(options.measured);
  if (!options.exchange.empty()) rates.link = read_link(options.exchange);
  if (!options.link.empty()) {
    rates.link = Link{parse_link_rate(options.link), parse_latency(options.latency), "--link"};
  }
  return rates;
}

/// Throws ConfigError unless what was measured is the configuration's model.
void require_same_model(const ComputeRate& measured, const std::string& workload,
                        const runner::TrainingScale& scale) {
  if (!measured.workload.empty() && measured.workload != workload) {
    throw base::ConfigError(fmt::format("scale: {}: expected a rate of {}, got one of {}",
                                        measured.source, workload, measured.workload));
  }
  if (measured.flops_per_sample != 0 && measured.flops_per_sample != scale.training_flops) {
    throw base::ConfigError(fmt::format(
        "scale: {}: expected the configuration's model, {} FLOP a sample, got one of {}",
        measured.source, scale.training_flops, measured.flops_per_sample));
  }
}

std::int64_t own_batch(const runner::ConfigSource& source) {
  const nlohmann::json resolved = source.config->reader.resolved();
  return resolved.at("training").at("global_batch_size").get<std::int64_t>();
}

void add_rows(const Options& options, std::int64_t batch, Result& result) {
  const runner::ConfigSource& source = *options.source;
  const std::vector<std::string> more = {fmt::format("training.global_batch_size={}", batch)};
  std::optional<runner::RunConfig> config;
  std::string problem;
  try {
    config = runner::load_config(source, options.workloads, more);
  } catch (const base::ConfigError& e) {
    problem = e.what();
  }
  for (const int ranks : options.ranks) {
    Row row{batch, ranks, source.config->epochs, problem};
    try {
      if (config) {
        const int node_ranks = std::min(ranks, options.ranks_per_node);
        const int threads = runner::planned_threads(config->cpus, config->threads, node_ranks);
        row.scale = source.entry->scale(*config, {0, ranks, node_ranks, threads});
        row.time = predict(row.scale, result.rates);
      }
    } catch (const base::ConfigError& e) {
      row.problem = e.what();
    }
    result.rows.push_back(std::move(row));
  }
}

Result evaluate(const Options& options) {
  Result result;
  result.workload = options.source->entry->name;
  result.config = options.source->path;
  result.rates = rates_of(options);
  if (options.batches.empty()) add_rows(options, own_batch(*options.source), result);
  for (const std::int64_t batch : options.batches) add_rows(options, batch, result);
  const auto possible =
      std::ranges::find_if(result.rows, [](const Row& row) { return row.problem.empty(); });
  if (possible == result.rows.end()) throw base::ConfigError(result.rows.front().problem);
  if (result.rates.compute) {
    require_same_model(*result.rates.compute, result.workload, possible->scale);
  }
  return result;
}

ExitCode run(const Options& options) {
  const Result result = evaluate(options);
  if (!options.csv.empty()) base::write_file(options.csv, csv(result));
  const std::string json = options.json.empty() ? "" : base::json_text(document(result), 2);
  if (options.json == "-") {
    std::cout << json << std::flush;
    return ExitCode::kSuccess;
  }
  if (!json.empty()) base::write_file(options.json, json);
  print(result, std::cout);
  return ExitCode::kSuccess;
}

/// Throws ConfigError for a workload without replicas, and for outputs that replace inputs.
void check(const Options& options, const runner::WorkloadEntry& entry) {
  if (entry.scale == nullptr) {
    throw base::ConfigError(fmt::format(
        "scale: {}: expected a workload whose ranks replicate the model ({})", entry.name,
        runner::names_of(options.workloads,
                         [](const runner::WorkloadEntry& one) { return one.scale != nullptr; })));
  }
  std::vector<std::filesystem::path> inputs;
  for (const std::string& path : {options.measured, options.exchange}) {
    if (!path.empty()) inputs.emplace_back(path);
  }
  runner::require_outputs(*options.source, {{"--json", options.json}, {"--csv", options.csv}},
                          inputs);
}

void declare_rates(CLI::App& app, Options& options) {
  auto* const rate = app.add_option("--rate", options.rate, "samples/s that a rank computes")
                         ->check(CLI::Range(1e-9, 1e12));
  app.add_option("--measured", options.measured,
                 "take that rate from a run (result_1.telemetry.json, or a folder's newest) or "
                 "from the JSON of `bench WORKLOAD`")
      ->excludes(rate);
  auto* const link =
      app.add_option("--link", options.link, "what a node sends a second: 10Gbit/s, 1.2GB/s");
  auto* const latency =
      app.add_option("--latency", options.latency, "of a message between nodes: 50us, 1ms")
          ->needs(link);
  link->needs(latency);
  app.add_option("--exchange", options.exchange,
                 "take both from the JSON of `bench exchange`: the slowest link")
      ->excludes(link);
}

}  // namespace

base::Command command(const runner::CommandParts& parts) {
  base::Command command;
  command.name = "scale";
  command.summary = "steps, FLOPs, messages and bytes on any number of ranks, and predicted times";
  command.example =
      "trainmark scale configs/resnet50/mlperf_8192.json --batch 8192,32768 --ranks 64,512\n"
      "  trainmark scale configs/resnet50/mlperf_8192.json --ranks 64 --rate 120 --link 10Gbit/s "
      "--latency 50us --json scale.json";
  command.declare = [parts](CLI::App& app) -> base::Command::Action {
    auto options = std::make_shared<Options>();
    options->workloads = parts.workloads;
    options->source = runner::declare_config(
        app, options->workloads,
        [options = options.get()](const runner::WorkloadEntry& entry) { check(*options, entry); });
    app.add_option("--batch", options->batches,
                   "global batch sizes, with commas; by default the configuration's")
        ->delimiter(',')
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
    app.add_option("--ranks", options->ranks, "numbers of ranks, with commas")
        ->delimiter(',')
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--ranks-per-node", options->ranks_per_node, "ranks that share a node")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    declare_rates(app, *options);
    app.add_option("--json", options->json,
                   "write all figures as JSON to this file; '-' for standard output, and no text");
    app.add_option("--csv", options->csv, "write all figures as CSV to this file");
    return [options](runner::Communicator*) { return run(*options); };
  };
  return command;
}

}  // namespace scale
