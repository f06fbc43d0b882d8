// Times training steps on random samples in memory.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "runner/base/cgroup.h"
#include "runner/base/error.h"
#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/dlrm/model.h"
#include "workloads/dlrm/tables.h"
#include "workloads/dlrm/workload.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/nn/memory_bandwidth.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"
#include "workloads/parallel/training_bench.h"
#include "workloads/parallel/training_keys.h"

namespace dlrm {
namespace {

struct BenchOptions : parallel::TrainingOptions {
  std::string config = "mlperf-mini";  ///< name of the model
  std::string table_update;            ///< empty: nn::best_update()
  std::string table_storage;           ///< empty: f32 with f32, split_bf16 with bf16
  std::string alltoall = "alltoall";
  std::int64_t max_rows = 0;  ///< of each table; 0: as the model has them
};

constexpr const char* kBench = "bench dlrm";
constexpr double kLearningRate = 0.01;
constexpr int kTriads = 3;
/// Batches of ids that steps use in turn, so that no step finds its rows in a cache.
constexpr std::size_t kIdBatches = 8;

struct NamedModel {
  const char* name;
  ModelConfig model;
};

/// Source: Kalamkar et al., arXiv:2005.04680, tables I and II.
std::vector<NamedModel> models() {
  ModelConfig small;
  small.dense_features = 512;
  small.embedding_width = 64;
  small.bottom = {512, 64};
  small.top = {1024, 1024, 1024, 1};
  small.tables.assign(8, 1'000'000);
  small.lookups = 50;
  ModelConfig large;
  large.dense_features = 2048;
  large.embedding_width = 256;
  large.bottom.assign(7, 2048);
  large.bottom.push_back(256);
  large.top.assign(15, 4096);
  large.top.push_back(1);
  large.tables.assign(64, 6'000'000);
  large.lookups = 100;
  ModelConfig mini;
  mini.tables = parse_tables("capped:1000000");
  return {{"small", small}, {"large", large}, {"mlperf-mini", mini}};
}

ModelConfig model_of(const BenchOptions& options) {
  std::string names;
  for (const NamedModel& one : models()) {
    if (one.name == options.config) {
      ModelConfig model = one.model;
      if (options.max_rows == 0) return model;
      for (std::int64_t& rows : model.tables) rows = std::min(rows, options.max_rows);
      return model;
    }
    names += std::string(names.empty() ? "" : ", ") + one.name;
  }
  throw base::ConfigError("bench dlrm: --config: expected one of " + names + ", got \"" +
                          options.config + "\"");
}

nn::Precision precision_of(const BenchOptions& options) {
  return parallel::arithmetic_of(kBench, options).precision;
}

/// What each rank may take of its node's memory for tables, the same on all ranks.
std::int64_t memory_share(const runner::Surroundings& around) {
  std::int64_t bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  bytes = std::min(bytes, base::cgroup_limits("/").memory_left_bytes.value_or(bytes));
  return around.world.allreduce_min(bytes / around.topology.node.size());
}

parallel::EmbeddingConfig embedding_config(const BenchOptions& options, const ModelConfig& model,
                                           const runner::Surroundings& around) {
  parallel::EmbeddingConfig config;
  config.tables = table_specs(model);
  config.memory_limit_bytes = memory_share(around);
  if (!options.table_update.empty()) {
    config.update =
        parallel::named("bench dlrm: --table-update", options.table_update, nn::table_updates());
  }
  const bool is_bf16 = precision_of(options) == nn::Precision::kBf16;
  const std::string storage =
      options.table_storage.empty() ? (is_bf16 ? "split_bf16" : "f32") : options.table_storage;
  config.storage = parallel::named("bench dlrm: --table-storage", storage, nn::table_storages());
  config.alltoall =
      parallel::named("bench dlrm: --alltoall", options.alltoall, parallel::alltoall_variants());
  return config;
}

/// Minimum memory traffic of a step's table operations on a rank, in bytes: ids read twice, rows
/// read by lookups, rows read and written by updates, sums written, their gradients read. Lookups
/// in a split table read the upper half of each row only.
std::int64_t table_bytes(const ModelConfig& model, std::int64_t batch, bool is_split,
                         nn::Precision values) {
  const std::int64_t tables = static_cast<std::int64_t>(model.tables.size());
  const std::int64_t bags = batch * tables, lookups = bags * model.lookups;
  const std::int64_t row = model.embedding_width * 4;
  return lookups * (2 * 4 + (is_split ? row / 2 : row) + 2 * row) +
         2 * bags * model.embedding_width * nn::bytes_of(values);
}

class Bench final : public parallel::BenchModel {
 public:
  static constexpr std::int64_t kUsualBatch = 2048;
  Bench(const BenchOptions& options, const runner::Surroundings& around)
      : options_(options),
        around_(around),
        model_(model_of(options)),
        network_(build_network(model_)),
        embeddings_(embedding_config(options, model_, around)),
        trainer_(network_, parallel::training_of(kBench, options, around.world.size()), embeddings_,
                 around.world, around.topology.node, around.telemetry),
        optimizer_(nn::make_sgd({.momentum = 0.0})) {
    trainer_.initialize(options.seed, *optimizer_);
    base::RandomStream random(options.seed, base::Purpose::kGenerate, 0,
                              static_cast<std::uint64_t>(around.world.rank()));
    dense_.resize(trainer_.executor().input().size());
    for (float& value : dense_) value = static_cast<float>(random.uniform());
    labels_.resize(static_cast<std::size_t>(options.batch));
    for (float& label : labels_) label = random.uniform() < 0.5 ? 0.0F : 1.0F;
    for (std::vector<std::int32_t>& ids : ids_) {
      for (const std::int64_t rows : model_.tables) {
        for (std::int64_t i = 0; i < options.batch * model_.lookups; ++i) {
          ids.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(rows))));
        }
      }
    }
  }

  nn::Executor& executor() override { return trainer_.executor(); }
  nlohmann::json facts(parallel::TrainingBench& bench) override {
    nlohmann::json facts = {
        {"config", options_.config},
        {"rows", std::accumulate(model_.tables.begin(), model_.tables.end(), std::int64_t{0})},
        {"parameters", model_.parameter_count()},
        {"table_update", nn::to_string(table_update())},
        {"table_storage", nn::to_string(embeddings_.storage)},
        {"memory_bytes", {{"embedding tables", trainer_.tables().memory_bytes()}}},
        {"definitions", definitions()}};
    if (options_.limit_repetitions > 0) add_table_limit(bench, facts);
    return facts;
  }
  double step() override {
    const double scale = 1.0 / static_cast<double>(options_.batch * around_.world.size());
    const auto ids_of = [this](std::int64_t step) -> parallel::HybridParallel::Ids {
      return ids_[static_cast<std::size_t>(step) % kIdBatches];
    };
    const std::int64_t now = steps_++;
    double loss = 0.0;
    trainer_.step(
        ids_of(now),
        [this](std::int64_t) {
          const telemetry::Scope scope(around_.telemetry, telemetry::Subsystem::kInput);
          std::copy(dense_.begin(), dense_.end(), trainer_.executor().input().begin());
        },
        [&](std::int64_t) {
          nn::Executor& executor = trainer_.executor();
          loss = nn::binary_cross_entropy(executor.outputs(), labels_, scale,
                                          executor.output_gradient())
                     .loss;
        },
        *optimizer_, kLearningRate, [&] { return ids_of(steps_); });
    return loss;
  }

 private:
  /// Does not depend on whether this rank has tables.
  nn::TableUpdate table_update() const {
    return embeddings_.update.value_or(nn::best_update(embeddings_.rule, embeddings_.storage,
                                                       static_cast<double>(model_.lookups)));
  }

  void add_table_limit(parallel::TrainingBench& bench, nlohmann::json& facts) {
    const bool is_split = embeddings_.storage == nn::TableStorage::kSplitBf16;
    const auto bytes =
        static_cast<double>(table_bytes(model_, options_.batch, is_split, precision_of(options_)));
    const double bandwidth = nn::triad_bandwidth(nn::kernels(base::usable_instruction_set()),
                                                 kTriads, base::SystemClock());
    facts["table_bytes"] = bytes;
    facts["triad_gb_per_s"] = bandwidth / 1e9;
    bench.add_seconds(bytes / bandwidth, "table_bytes at the bandwidth of a triad");
    facts["definitions"].update(nlohmann::json{
        {"table_bytes",
         "per rank and step: ids twice, rows of all lookups read once, and read and written again "
         "to be updated; sums of bags written, their gradients read"},
        {"triad_gb_per_s",
         "best rate of a = b + s c over three blocks of 256 MiB on each rank, all three counted; "
         "with streaming stores where the CPU has avx512"}});
  }

  static nlohmann::json definitions() {
    return {{"rows", "of all tables"},
            {"table_update",
             "how threads share the update of tables; reference: one thread; race_free and sorted: "
             "a row belongs to one thread, and the bits are the same on any number of threads; "
             "locked and atomic: any thread adds to any row, with several threads in an order that "
             "varies, so that a run may not be repeated bit for bit"},
            {"table_storage",
             "layout of weights in memory: whole floats (f32), or upper and lower halves of floats "
             "apart (split_bf16), of which sums read the upper ones only"}};
  }

  const BenchOptions& options_;
  const runner::Surroundings& around_;
  const ModelConfig model_;
  const nn::Network network_;
  const parallel::EmbeddingConfig embeddings_;
  parallel::HybridParallel trainer_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  std::vector<float> dense_, labels_;
  std::array<std::vector<std::int32_t>, kIdBatches> ids_;
  std::int64_t steps_ = 0;
};

}  // namespace

runner::Bench declare_bench(CLI::App& app) {
  const auto own = std::make_shared<BenchOptions>();
  app.add_option("--config", own->config,
                 "the model: small and large of the paper on CPU clusters, or mlperf-mini, the "
                 "benchmark's with tables of at most a million rows. The tables of large take 393 "
                 "GB of all ranks, unless --max-rows cuts them")
      ->capture_default_str();
  app.add_option("--max-rows", own->max_rows, "cuts each table to this many rows")
      ->check(CLI::PositiveNumber);
  app.add_option("--table-update", own->table_update,
                 "how threads share the update of a table; without it as update rule, storage and "
                 "ids per bag have it. With locked and atomic and several threads two runs may end "
                 "in different bits")
      ->check(CLI::IsMember({"reference", "locked", "atomic", "race_free", "sorted"}));
  app.add_option("--table-storage", own->table_storage,
                 "f32 or split_bf16; without it as --precision has it")
      ->check(CLI::IsMember({"f32", "split_bf16"}));
  app.add_option("--alltoall", own->alltoall, "how outputs go between ranks")
      ->check(CLI::IsMember({"scatter_list", "scatter", "alltoall"}))
      ->capture_default_str();
  return parallel::bench_of<Bench>("dlrm", own);
}

}  // namespace dlrm
