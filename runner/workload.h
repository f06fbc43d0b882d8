// One benchmark as the runner sees it: the contract between run loop and workloads.
// Hides everything about models and data.
#pragma once

#include <cstdint>
#include <functional>
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

/// What MLPerf asks every system to disclose of how it trains, in the words of its logs: "fp32",
/// "bfloat16"; the parallelism that is not used is 1.
struct Disclosure {
  /// The lowest precision in matrix products and convolutions, in attention, and between ranks. A
  /// network without attention computes none of it below fp32.
  std::string linear = "fp32", attention = "fp32", communication = "fp32";
  std::int64_t tensor_ranks = 1;      ///< that the parameters of a layer are spread over
  std::int64_t pipeline_ranks = 1;    ///< that the layers are
  std::int64_t context_ranks = 1;     ///< that a sample is
  std::int64_t expert_ranks = 1;      ///< that experts are
  std::int64_t micro_batch_size = 0;  ///< the most samples that a rank has of one pass
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
  /// That share batch norm's statistics, where the configuration does not say so; else 0.
  std::int64_t norm_group_samples = 0;
  mllog::QualityTarget target;  ///< of one part
  Disclosure disclosure = {};
  std::vector<telemetry::LayerMethod> layers = {};  ///< on this rank, since initialize()
  /// An evaluation is logged with the epochs done plus this as epoch_num.
  double epoch_num_offset = 0.0;
};

/// What one training step costs a rank; for bench and reports.
struct StepCost {
  std::int64_t samples = 0;  ///< on this rank
  std::int64_t flops =
      0;  ///< 2 x multiply-accumulates of convolutions and matrix products, this rank
  std::int64_t exchange_bytes = 0;  ///< bytes that this rank gives to exchanges: its gradients
                                    ///< of what all have, and what it sends of what few have
};

/// What a step did, the same on every rank.
struct TrainResult {
  double mean_loss = 0.0;      ///< over the samples of the steps asked for
  double learning_rate = 0.0;  ///< of the last step
  std::int64_t samples = 0;    ///< of all ranks
};

/// Receives every evaluation sample's outputs once, in any order, on rank 0 alone.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// outputs [count, width] row-major fp32, labels [count]; first is the dataset index of row 0.
  virtual void write(std::int64_t first, std::int64_t width, std::span<const float> outputs,
                     std::span<const std::int32_t> labels) = 0;
  /// In its place where samples have several targets each: targets [count, of a sample].
  virtual void write_targets(std::int64_t /*first*/, std::int64_t /*width*/,
                             std::span<const float> /*outputs*/,
                             std::span<const float> /*targets*/) {
    throw base::Error(base::ExitCode::kInternal, "this sink takes labels, not targets");
  }
  /// Everything is there: called once, last. What is not finished leaves no file that looks whole.
  virtual void finish() {}
};

/// Named arrays and numbers, written by one rank (0) and readable by all.
class StateWriter {
 public:
  virtual ~StateWriter() = default;
  virtual void write(const std::string& name, const std::vector<std::int64_t>& shape,
                     std::span<const float> data) = 0;
  virtual void write(const std::string& name, std::int64_t value) = 0;
  /// Everything is there: called once, last. What is not finished leaves nothing behind.
  virtual void finish() {}
};
class StateReader {
 public:
  virtual ~StateReader() = default;
  virtual bool has(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  /// Throws DataError naming file and array when it is absent or of another shape.
  virtual std::vector<float> read(const std::string& name,
                                  const std::vector<std::int64_t>& shape) const = 0;
  virtual std::int64_t read_integer(const std::string& name) const = 0;
};

/// What a workload is given; all outlive it.
struct Surroundings {
  const Communicator& world;
  const Topology& topology;
  telemetry::Telemetry& telemetry;
  int threads = 1;  ///< compute threads of this rank
};

/// One benchmark. Every call is collective; none prints, and time is only taken by the scopes of
/// the Telemetry that the workload was given. Order: initialize, [load_weights or restore], stage,
/// then train and evaluate.
class Workload {
 public:
  virtual ~Workload() = default;
  /// Sample counts are known after open_data().
  virtual const WorkloadInfo& info() const = 0;
  /// What this benchmark adds to the log, key and value, known after open_data().
  virtual std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const = 0;
  /// Names of the parameter tensors as MLPerf's weights_initialization wants them.
  virtual std::vector<std::string> log_tensor_names() const = 0;
  /// Learns sample counts and classes (metadata only; training data stays untouched). Before
  /// initialize().
  virtual void open_data() = 0;
  /// In its place where nothing but evaluate() follows: learns what that needs.
  virtual void open_evaluation_data() { open_data(); }
  /// Builds model and optimizer and seeds the weights.
  virtual void initialize() = 0;
  /// Brings this node's samples near; the runner times it. Returns facts for log and report (bytes,
  /// files, seconds).
  virtual nlohmann::json stage() = 0;
  /// `steps` training steps, each between begin_step() and end_step() of the telemetry.
  virtual TrainResult train(std::int64_t steps) = 0;
  /// Quality on the whole validation set, equal on every rank.
  virtual double evaluate(OutputSink* outputs) = 0;
  /// Model parameters and statistics under the reference model's names, fp32 row-major. Rank 0's
  /// writer is used.
  virtual void save_weights(StateWriter* writer) = 0;
  /// Throws DataError when an array is missing, of another shape, or unknown.
  virtual void load_weights(const StateReader& reader) = 0;
  /// All that a bit-exact resume needs beside configuration and steps done, between two calls of
  /// train or evaluate; weights under the reference model's names. Changes nothing: a run that was
  /// saved ends with the bits of one that was not. The arrays refer to the workload.
  virtual std::vector<base::StateArray> state() = 0;
  /// Puts back what state() gave after `steps_done` steps, which is all that decides the samples of
  /// the next: bit for bit on as many ranks. After initialize(), before stage().
  virtual void restore(const base::StateSource& source, std::int64_t steps_done) = 0;
  /// Bytes of state() on this many ranks; before initialize(), for --dry-run.
  virtual std::int64_t state_bytes() const = 0;
  /// The workload's own keys that a resumed run may change, because no bit of the state depends on
  /// them: "/dataset/decode_threads"; "/staging" for all below it.
  virtual std::vector<std::string> keys_without_effect() const { return {}; }
  /// A hash of the parameters' bits on this rank: equal on all ranks unless replicas drifted.
  virtual std::uint64_t replica_hash() const = 0;
  virtual StepCost step_cost() const = 0;
  /// Which key of the configuration decides a key of the log, also one that it keeps out of the
  /// log: {"sgd_opt_momentum", "/optimizer/momentum"}.
  virtual std::map<std::string, std::string> log_settings() const { return {}; }
  /// What the closed division forbids in the workload's own keys and no key of the log tells:
  /// "/optimizer/nesterov: must be false, got true".
  virtual std::vector<std::string> closed_rule_breaks() const { return {}; }
  /// What stage() would copy to this rank's node, and whether it fits; null when it copies nothing.
  /// After open_data(); reads metadata and writes nothing.
  virtual nlohmann::json staging_plan() { return nullptr; }
  /// Which rank has which part of the model; null where every rank has all of it.
  virtual nlohmann::json placement_plan() { return nullptr; }
  /// Removes what the workload left on node-local storage. After the run, timed by nobody.
  virtual void clean_up() {}
};

/// Makes the workload that `config` describes. Reads its own keys from config.reader (dataset,
/// model, optimizer, ...); needs no rank to parse.
using MakeWorkload = std::unique_ptr<Workload> (*)(const RunConfig& config,
                                                   const Surroundings& around);

/// The rank that a plan is of.
struct PlannedRank {
  int rank = 0, ranks = 1;
  int node_ranks = 1;  ///< of them on its node
  int threads = 1;
};

/// Bytes that training needs, by part; without the program itself and its libraries.
struct MemoryNeeds {
  using Parts = std::map<std::string, std::int64_t>;
  Parts rank;           ///< of each rank
  Parts node;           ///< of all ranks of a node together, once
  std::string peak_at;  ///< what is done when most of "activations and scratch" is in use
  Parts peak;           ///< what they are then
};

/// Options of `trainmark bench` that every workload has.
struct BenchOptions {
  std::int64_t batch = 0;  ///< per rank; 0: the workload's usual one
  std::string precision = "f32";
  std::string products = "auto";
  std::int64_t steps = 10;
  std::int64_t warmup_steps = 2;
  std::uint64_t seed = 1;
  std::int64_t limit_repetitions =
      5;                ///< least number of times that each product runs alone; 0: none
  bool layers = false;  ///< a table of all layers
};

/// An in-memory benchmark. Collective; throws ConfigError for options that it does not take.
using Bench =
    std::function<nlohmann::json(const BenchOptions& options, const Surroundings& around)>;

/// An entry of the registry in workloads/registry.cpp.
struct WorkloadEntry {
  const char* name = "";
  const char* summary = "";
  MakeWorkload make = nullptr;
  /// Reads (and so checks and records) the workload's keys of a configuration without building
  /// anything.
  void (*check)(const base::ObjectReader& reader) = nullptr;
  /// Plans without taking the memory. Throws ConfigError for what cannot be trained there.
  MemoryNeeds (*memory_needs)(const RunConfig& config, const PlannedRank& place) = nullptr;
  /// Declares the options of `bench WORKLOAD` that are the workload's own, and gives the bench;
  /// null: it has none.
  Bench (*declare_bench)(CLI::App& app) = nullptr;
  /// Declares the options of `generate WORKLOAD` and gives what writes the synthetic dataset; null:
  /// nothing does.
  std::function<base::ExitCode()> (*declare_generate)(CLI::App& app) = nullptr;
  /// Evaluations of each epoch where a configuration says nothing of when.
  std::int64_t evaluations_per_epoch = 1;
  /// Makes a sink that draws what an evaluation found into `folder`; null where there is nothing to
  /// see.
  std::unique_ptr<OutputSink> (*draw)(const RunConfig& config, const std::string& folder) = nullptr;
};

}  // namespace runner
