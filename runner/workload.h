// The interface between the run loop and workloads: one benchmark as the runner sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/object_reader.h"
#include "runner/base/state.h"
#include "runner/communicator.h"
#include "runner/mllog/quality_target.h"
#include "runner/run_config.h"
#include "runner/telemetry/telemetry.h"

namespace CLI {
class App;
}

namespace runner {

/// What MLPerf requires every system to disclose about its training, in the terms of its logs:
/// "fp32", "bfloat16". An unused kind of parallelism is 1.
struct Disclosure {
  /// The lowest precision in matrix products and convolutions, in attention, and in communication.
  /// A network without attention logs fp32 for attention.
  std::string linear = "fp32", attention = "fp32", communication = "fp32";
  std::int64_t tensor_ranks = 1;      ///< ranks that share the parameters of a layer
  std::int64_t pipeline_ranks = 1;    ///< ranks that share the layers
  std::int64_t context_ranks = 1;     ///< ranks that share a sample
  std::int64_t expert_ranks = 1;      ///< ranks that share the experts
  std::string gradients;              ///< how they travel if not in full: "top_k 0.01"
  std::int64_t micro_batch_size = 0;  ///< largest number of samples per rank and pass
};

struct WorkloadInfo {
  std::string name;       ///< "resnet50": folder and configuration name
  std::string benchmark;  ///< MLPerf's submission_benchmark: "resnet"
  std::int64_t train_samples = 0;
  std::int64_t eval_samples = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t gradient_accumulation_steps = 1;
  std::int64_t parameters = 0;
  /// Samples that share batch norm statistics if the configuration does not say; else 0.
  std::int64_t norm_group_samples = 0;
  mllog::QualityTarget target;  ///< has one part
  Disclosure disclosure = {};
  std::vector<telemetry::LayerMethod> layers = {};  ///< on this rank, since initialize()
  /// Added to the completed epochs in the epoch_num of evaluations.
  double epoch_num_offset = 0.0;
};

/// The cost of one training step on one rank; for bench and reports.
struct StepCost {
  std::int64_t samples = 0;  ///< on this rank
  std::int64_t flops =
      0;  ///< 2 x multiply-accumulates of convolutions and matrix products, this rank
  std::int64_t exchange_bytes = 0;  ///< bytes that this rank sends in exchanges: gradients of
                                    ///< replicated parameters, and messages for distributed ones
};

/// The result of train(), the same on every rank.
struct TrainResult {
  double mean_loss = 0.0;      ///< over the samples of the requested steps
  double learning_rate = 0.0;  ///< at the last step
  std::int64_t samples = 0;    ///< of all ranks
};

/// Receives every evaluation sample's outputs once, in any order, on rank 0 only.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// outputs [count, width] row-major fp32, labels [count]; first is the dataset index of row 0.
  virtual void write(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                     std::span<const std::int32_t> labels) = 0;
  /// Called instead of write() if samples have several targets each: targets [count, targets per
  /// sample], row-major.
  virtual void write_targets(std::int64_t /*first*/, std::int64_t /*width*/,
                             std::span<const float> /*outputs*/,
                             std::span<const float> /*targets*/) {
    throw base::Error(base::ExitCode::kInternal, "this sink takes labels, not targets");
  }
  /// Called once, after all writes. Without it, no file remains that looks complete.
  virtual void finish() {}
};

/// Writes named arrays and numbers; rank 0 writes, all ranks may read.
class StateWriter {
 public:
  virtual ~StateWriter() = default;
  virtual void write(const std::string& name, const std::vector<std::int64_t>& shape,
                     std::span<const float> data) = 0;
  virtual void write(const std::string& name, std::int64_t value) = 0;
  /// Called once, after all writes. Without it, nothing remains.
  virtual void finish() {}
};
class StateReader {
 public:
  virtual ~StateReader() = default;
  virtual bool has(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  /// Throws DataError naming file and array if the array is absent or has another shape.
  virtual std::vector<float> read(const std::string& name,
                                  const std::vector<std::int64_t>& shape) const = 0;
  virtual std::int64_t read_integer(const std::string& name) const = 0;
};

/// The dependencies of a workload; all outlive it.
struct Surroundings {
  const Communicator& world;
  const Topology& topology;
  telemetry::Telemetry& telemetry;
  int threads = 1;  ///< compute threads of this rank
};

/// When copying that goes on while training ends.
enum class StagingEnd {
  kWhenCopied,  ///< of itself, when all ranks have copied what they could
  kNow          ///< even if it leaves samples uncopied
};

/// One benchmark. Every call is collective. No call prints; time is measured only by the Telemetry
/// scopes that the workload was given. Order: initialize, [load_weights or restore], stage, then
/// train and evaluate.
class Workload {
 public:
  virtual ~Workload() = default;
  /// Sample counts are known after open_data().
  virtual const WorkloadInfo& info() const = 0;
  /// Log records of this benchmark in addition to the common ones, key and value; known after
  /// open_data().
  virtual std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const = 0;
  /// Names of the parameter tensors for MLPerf's weights_initialization records.
  virtual std::vector<std::string> log_tensor_names() const = 0;
  /// Reads sample counts and classes (metadata only, no training data). Called before initialize().
  virtual void open_data() = 0;
  /// Called instead of open_data() if only evaluate() follows.
  virtual void open_evaluation_data() { open_data(); }
  /// Builds model and optimizer and initializes the weights from the seed.
  virtual void initialize() = 0;
  /// Copies this node's samples to local storage; the runner measures the time. Returns facts for
  /// log and report (bytes, files, seconds); or null, when copying goes on while training.
  virtual nlohmann::json stage() = 0;
  /// Collective, after a stage() that returned null: its facts once copying is over, else null.
  virtual nlohmann::json finish_staging(StagingEnd /*end*/) { return nullptr; }
  /// Runs `steps` training steps, each between begin_step() and end_step() of the telemetry.
  virtual TrainResult train(std::int64_t steps) = 0;
  /// Performs the exchanges of a training step one after the other, without computing: those that
  /// training can start and wait for. Only this and clean_up() may follow.
  virtual void exchange_alone() {}
  /// Quality on the whole validation set; the same on every rank.
  virtual double evaluate(OutputSink* outputs) = 0;
  /// Writes model parameters and statistics under the reference model's names, fp32 row-major. Only
  /// rank 0's writer is used.
  virtual void save_weights(StateWriter* writer) = 0;
  /// Throws DataError if an array is missing, unknown, or of another shape.
  virtual void load_weights(const StateReader& reader) = 0;
  /// Everything that a bit-exact resume needs in addition to configuration and number of steps;
  /// weights have the reference model's names. Call it between calls of train or evaluate. Changes
  /// nothing: saving a run does not alter its bits. The arrays refer to the workload's memory.
  virtual std::vector<base::StateArray> state() = 0;
  /// Restores what state() returned after `steps_done` steps. The number of steps alone determines
  /// the next samples, so the run continues bit for bit on the same number of ranks. Call it after
  /// initialize() and before stage().
  virtual void restore(const base::StateSource& source, std::int64_t steps_done) = 0;
  /// Bytes of state() on the current number of ranks. Callable before initialize(), for --dry-run.
  virtual std::int64_t state_bytes() const = 0;
  /// The workload's own configuration keys that a resumed run may change, since no bit of the state
  /// depends on them: "/dataset/decode_threads"; "/staging" includes all keys below it.
  virtual std::vector<std::string> keys_without_effect() const { return {}; }
  /// Collective. A hash of the parameters' bits on this rank; the same on all ranks unless replicas
  /// have diverged.
  virtual std::uint64_t replica_hash() const = 0;
  virtual StepCost step_cost() const = 0;
  /// The configuration key that determines a log key, including log keys that are not written:
  /// {"sgd_opt_momentum", "/optimizer/momentum"}.
  virtual std::map<std::string, std::string> log_settings() const { return {}; }
  /// Violations of the closed division in the workload's own keys that no log key shows:
  /// "/optimizer/nesterov: must be false, got true".
  virtual std::vector<std::string> closed_rule_breaks() const { return {}; }
  /// What stage() would copy to this rank's node, and whether it fits; null if nothing. Call it
  /// after open_data(). May read samples, and write files that have no names, to measure rates.
  virtual nlohmann::json staging_plan() { return nullptr; }
  /// Which rank has which part of the model; null if every rank has all of it.
  virtual nlohmann::json placement_plan() { return nullptr; }
  /// What people should know about the data on this rank although it did not end the run, since the
  /// last call: "a.jpg: ... (and 3 more such)". Not collective.
  virtual std::vector<std::string> take_remarks() { return {}; }
  /// Removes the workload's files from node-local storage. Called after the run; not timed.
  virtual void clean_up() {}
};

/// Creates the workload that `config` describes, reading its own keys from config.reader (dataset,
/// model, optimizer, ...). Parsing depends on no rank.
using MakeWorkload = std::unique_ptr<Workload> (*)(const RunConfig& config,
                                                   const Surroundings& around);

/// The rank for which a plan is made.
struct PlannedRank {
  int rank = 0, ranks = 1;
  int node_ranks = 1;  ///< ranks on its node
  int threads = 1;
};

/// Bytes that training needs, by part, without the program and its libraries.
struct MemoryNeeds {
  using Parts = std::map<std::string, std::int64_t>;
  Parts rank;           ///< per rank
  Parts node;           ///< once per node, shared by its ranks
  std::string peak_at;  ///< the operation during which "activations and scratch" is largest
  Parts peak;           ///< the parts of "activations and scratch" at that time
};

/// Options of `trainmark bench` that all workloads share.
struct BenchOptions {
  std::int64_t batch = 0;  ///< per rank; 0: the workload's default
  std::string precision = "f32";
  std::string products = "auto";
  std::int64_t steps = 10;
  std::int64_t warmup_steps = 2;
  std::uint64_t seed = 1;
  std::int64_t limit_repetitions =
      5;                ///< minimum repetitions of each product run alone; 0: not measured
  bool layers = false;  ///< print a table of all layers
};

struct TrainingScale;

/// An in-memory benchmark. Collective. Throws ConfigError for options that it does not support.
using Bench =
    std::function<nlohmann::json(const BenchOptions& options, const Surroundings& around)>;

/// A benchmark of the machine whose options are declared.
struct DeclaredMachineBench {
  /// Throws ConfigError for options that are wrong on any machine.
  std::function<void()> check;
  /// Measures, and prints its table to `table` meanwhile, on rank 0. Collective. The document has
  /// on every rank a member "failure": why the machine cannot be trusted, or null. Throws
  /// AgreedError for options that do not fit the ranks.
  std::function<nlohmann::json(const Surroundings& around, std::ostream& table)> measure;
};

/// A benchmark that is of no workload: `bench NAME`.
struct MachineBench {
  const char* name = "";
  const char* summary = "";
  const char* example = "";  ///< its options
  DeclaredMachineBench (*declare)(CLI::App& app) = nullptr;
};

/// An entry of the registry in workloads/registry.cpp.
struct WorkloadEntry {
  const char* name = "";
  const char* summary = "";
  MakeWorkload make = nullptr;
  /// Reads the workload's keys of a configuration, and so checks and records them, without building
  /// anything.
  void (*check)(const base::ObjectReader& reader) = nullptr;
  /// Plans memory without allocating it. Throws ConfigError if the workload cannot be trained on
  /// that rank.
  MemoryNeeds (*memory_needs)(const RunConfig& config, const PlannedRank& place) = nullptr;
  /// Training's costs without building anything, for a workload whose ranks replicate the model;
  /// else null. Throws ConfigError if it cannot be trained on these ranks, or if the configuration
  /// does not say how many samples there are. Of `place` the rank does not matter.
  TrainingScale (*scale)(const RunConfig& config, const PlannedRank& place) = nullptr;
  /// Declares the workload's own options of `bench WORKLOAD` and returns the benchmark. Null: no
  /// benchmark.
  Bench (*declare_bench)(CLI::App& app) = nullptr;
  /// Declares the options of `generate WORKLOAD` and returns a function that writes the synthetic
  /// dataset. Null: none.
  std::function<base::ExitCode()> (*declare_generate)(CLI::App& app) = nullptr;
  /// Evaluations per epoch if the configuration has no evaluation schedule.
  std::int64_t evaluations_per_epoch = 1;
  /// Creates a sink that draws the results of an evaluation into `folder`. Null: there is nothing
  /// to draw.
  std::unique_ptr<OutputSink> (*draw)(const RunConfig& config, const std::string& folder) = nullptr;
};

}  // namespace runner
