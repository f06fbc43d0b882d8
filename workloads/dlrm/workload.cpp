// The DLRM workload: training steps, evaluation, weights.
#include "workloads/dlrm/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "runner/agreed_error.h"
#include "runner/base/error.h"
#include "runner/base/state.h"
#include "runner/base/system_facts.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/keys.h"
#include "workloads/dlrm/click_data.h"
#include "workloads/dlrm/config.h"
#include "workloads/dlrm/log_fields.h"
#include "workloads/dlrm/rule_breaks.h"
#include "workloads/nn/layers/loss.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/parallel/gather_outputs.h"
#include "workloads/parallel/hybrid/hybrid_parallel.h"
#include "workloads/parallel/replica.h"
#include "workloads/parallel/roc_auc.h"
#include "workloads/parallel/training_workload.h"

namespace dlrm {
namespace {

using telemetry::Counter;
using telemetry::Scope;
using telemetry::Subsystem;

parallel::DataParallelConfig dense_config(const Config& config) {
  parallel::DataParallelConfig dense;
  dense.global_batch = config.global_batch_size;
  dense.instruction_set = base::usable_instruction_set();
  dense.arithmetic = config.arithmetic;
  dense.gradients = config.gradients;
  return dense;
}

ClickDataOptions data_options(const Config& config, std::uint64_t seed) {
  ClickDataOptions options = config.data;
  options.seed = seed;
  return options;
}

/// Adds the distributed tables: the number of ranks that have shards, and the precision in which
/// embeddings and their gradients are sent, the lower of the payload's and their own.
runner::Disclosure disclosure_of(const Config& config, const parallel::TablePlacement& placement,
                                 const parallel::BatchSplit& split, int nodes) {
  runner::Disclosure facts = parallel::disclosure_of(dense_config(config), split, nodes);
  std::set<int> ranks;
  for (const parallel::TableShard& shard : placement.shards) ranks.insert(shard.rank);
  facts.tensor_ranks = std::max<std::int64_t>(1, std::ssize(ranks));
  const bool sends_bf16 = config.embeddings.payload == nn::Precision::kBf16 ||
                          config.arithmetic.precision == nn::Precision::kBf16;
  // What the layers send may be lower still.
  if (facts.tensor_ranks > 1 && sends_bf16 &&
      facts.communication == nn::logged_name(nn::Precision::kF32)) {
    facts.communication = nn::logged_name(nn::Precision::kBf16);
  }
  return facts;
}

class Dlrm final : public parallel::TrainingWorkload {
 public:
  Dlrm(const Config& config, const std::shared_ptr<ClickData>& data, const runner::RunConfig& run,
       const runner::Surroundings& around);

  std::vector<std::pair<std::string, nlohmann::ordered_json>> log_fields() const override {
    return optimizer_log_fields(optimizer().hyperparameters(), config_.embeddings, schedule());
  }
  std::vector<std::string> log_tensor_names() const override {
    return mlperf_tensor_names(config_.model);
  }
  void save_weights(runner::StateWriter* writer) override;
  void load_weights(const runner::StateReader& reader) override;
  std::int64_t state_bytes() const override {
    return TrainingWorkload::state_bytes() +
           parallel::HybridParallel::state_bytes(config_.embeddings);
  }
  std::vector<std::string> keys_without_effect() const override;
  runner::StepCost step_cost() const override;
  std::map<std::string, std::string> log_settings() const override { return dlrm::log_settings(); }
  std::vector<std::string> model_rule_breaks() const override {
    return dlrm::closed_rule_breaks(config_, optimizer().hyperparameters());
  }
  nlohmann::json placement_plan() override {
    return parallel::to_json(parallel::place(config_.embeddings, around().world.size()),
                             config_.embeddings.tables);
  }

 private:
  void make_model() override;
  parallel::Model& model() const override { return *model_; }
  Load training_batches(std::int64_t first_step) override;
  void update(double learning_rate, parallel::BatchSums& sums) override;
  double measure(runner::OutputSink* outputs) override;
  parallel::BatchSums learn();
  parallel::HybridParallel::Ids next_ids() const;
  /// The next batch, or an empty one if this rank has no more.
  const dataset::ClickBatch& next_evaluated(ClickBatches& batches, bool has_more);
  void send_outputs(runner::OutputSink* sink, std::int64_t round, const dataset::ClickBatch& batch);
  const nn::PassSlice& slice() const {
    return split().slices[static_cast<std::size_t>(around().world.rank())];
  }
  /// Throws AgreedError unless both classes have samples. `auc` is the same on all ranks.
  void require_both_classes(const parallel::RocAuc& auc) const;

  const Config config_;
  const std::shared_ptr<ClickData> data_;
  std::unique_ptr<parallel::HybridParallel> model_;
  const dataset::ClickBatch* batch_ = nullptr;  ///< last training batch, owned by ClickBatches
  std::weak_ptr<ClickBatches> read_ahead_;      ///< the training batches, owned by Load
  dataset::ClickBatch no_samples_;              ///< the empty batch of next_evaluated()
};

Dlrm::Dlrm(const Config& config, const std::shared_ptr<ClickData>& data,
           const runner::RunConfig& run, const runner::Surroundings& around)
    : TrainingWorkload(
          {.name = "dlrm",
           .benchmark = "dlrm",
           .target = mllog::find_benchmark("dlrm")->evaluation().target,
           .epoch_num_offset = 1.0},  // the rules count DLRM's epochs from 1.0 on
          {build_network(config.model), dense_config(config), make_dense_optimizer(run.reader),
           parallel::schedule_of(run.reader, config.epochs)},
          data, run.seed, around),
      config_(config),
      data_(data) {
  // Throws ConfigError on all ranks alike if the tables do not fit.
  const parallel::TablePlacement placement =
      parallel::place(config_.embeddings, around.world.size());
  own_info().parameters = config_.model.parameter_count();
  own_info().disclosure = disclosure_of(config_, placement, split(), around.topology.node_count);
}

void Dlrm::make_model() {
  model_ = std::make_unique<parallel::HybridParallel>(network(), training(), config_.embeddings,
                                                      around().world, around().topology.node,
                                                      around().telemetry);
}

Dlrm::Load Dlrm::training_batches(std::int64_t first_step) {
  data_->open();
  const std::shared_ptr<ClickBatches> batches =
      data_->training_batches(slice(), first_step, config_.epochs * info().steps_per_epoch);
  read_ahead_ = batches;
  return [this, batches] { batch_ = &batches->next(); };
}

void Dlrm::update(double learning_rate, parallel::BatchSums& sums) {
  load();
  const auto load_dense = [&](std::int64_t) {
    std::copy(batch_->dense.begin(), batch_->dense.end(), model_->executor().input().begin());
  };
  model_->step(
      batch_->ids, load_dense, [&](std::int64_t) { sums += learn(); }, optimizer(), learning_rate,
      [this] { return next_ids(); });
}

parallel::HybridParallel::Ids Dlrm::next_ids() const {
  if (!is_followed()) return {};
  const dataset::ClickBatch* const ahead = read_ahead_.lock()->ahead();
  return ahead == nullptr ? parallel::HybridParallel::Ids() : ahead->ids;
}

parallel::BatchSums Dlrm::learn() {
  // The last batch of an epoch may be smaller.
  const double scale = 1.0 / static_cast<double>(data_->batch_samples(steps_done()));
  nn::Executor& executor = model_->executor();
  const nn::LossSums sums = nn::binary_cross_entropy(executor.outputs(), batch_->labels, scale,
                                                     executor.output_gradient());
  return {.loss = sums.loss, .samples = sums.samples};
}

const dataset::ClickBatch& Dlrm::next_evaluated(ClickBatches& batches, bool has_more) {
  const Scope scope(around().telemetry, Subsystem::kInput);
  if (has_more) return batches.next();
  const auto places = static_cast<std::size_t>(model_->local_batch());
  no_samples_.dense.assign(places * static_cast<std::size_t>(config_.model.dense_features), 0.0F);
  no_samples_.labels.assign(places, -1.0F);
  no_samples_.ids.assign(places * config_.model.tables.size(), 0);
  return no_samples_;
}

double Dlrm::measure(runner::OutputSink* outputs) {
  open_evaluation_data();
  const std::int64_t size = model_->local_batch();
  const auto batches = data_->evaluation_batches(size);
  const std::int64_t mine = data_->evaluation_steps(size);
  // Every round is collective, so a rank with larger batches and fewer rounds adds empty batches.
  const std::int64_t rounds = around().world.allreduce_max(mine);
  const bool sends = around().world.allreduce_max(std::int64_t{outputs != nullptr ? 1 : 0}) > 0;
  std::vector<float> scores, labels;
  const auto samples =
      static_cast<std::size_t>(data_->evaluation_part(around().world.rank()).count);
  for (std::vector<float>* const all : {&scores, &labels}) all->reserve(samples);
  for (std::int64_t round = 0; round < rounds; ++round) {
    const dataset::ClickBatch& batch = next_evaluated(*batches, round < mine);
    model_->infer(batch.ids, [&] {
      std::copy(batch.dense.begin(), batch.dense.end(), model_->executor().input().begin());
    });
    const std::span<const float> logits = model_->executor().outputs();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (batch.labels[i] < 0.0F) continue;
      scores.push_back(std::isfinite(logits[i]) ? logits[i]
                                                : std::numeric_limits<float>::quiet_NaN());
      labels.push_back(batch.labels[i]);
    }
    if (sends) send_outputs(outputs, round, batch);
  }
  around().telemetry.add(Counter::kEvalSamples, static_cast<std::int64_t>(scores.size()));
  count_reads();
  const parallel::RocAuc auc = parallel::roc_auc(scores, labels, around().world);
  if (auc.nan_scores == 0) require_both_classes(auc);
  return auc.area;
}

void Dlrm::require_both_classes(const parallel::RocAuc& auc) const {
  if (auc.positives > 0 && auc.negatives > 0) return;
  throw runner::AgreedError(
      base::ExitCode::kData,
      fmt::format("{}: expected samples with and without a click, found {} with and {} without",
                  config_.data.test, auc.positives, auc.negatives));
}

void Dlrm::send_outputs(runner::OutputSink* sink, std::int64_t round,
                        const dataset::ClickBatch& batch) {
  const RecordRange part = data_->evaluation_part(around().world.rank());
  const std::int64_t done = std::min(round * model_->local_batch(), part.count);
  const std::int64_t count = std::min(model_->local_batch(), part.count - done);
  std::vector<std::int32_t> labels;
  for (const float label : batch.labels) labels.push_back(static_cast<std::int32_t>(label));
  parallel::gather_outputs(around().world, sink, part.first + done, count, 1,
                           model_->executor().outputs(), labels);
}

void Dlrm::save_weights(runner::StateWriter* writer) {
  model_->finish_update();
  parallel::write_parameters(writer, model_->executor());
  for (std::size_t i = 0; i < config_.embeddings.tables.size(); ++i) {
    const parallel::TableSpec& spec = config_.embeddings.tables[i];
    const std::vector<float> rows = model_->read_table(i);
    if (writer != nullptr) writer->write(spec.name, {spec.rows, spec.width}, rows);
  }
}

void Dlrm::load_weights(const runner::StateReader& reader) {
  model_->finish_update();
  std::set<std::string> known;
  parallel::read_parameters(reader, model_->executor(), known);
  for (std::size_t i = 0; i < config_.embeddings.tables.size(); ++i) {
    model_->load_table(i, reader);
    known.insert(config_.embeddings.tables[i].name);
  }
  parallel::refuse_unknown(reader, known);
}

runner::StepCost Dlrm::step_cost() const {
  runner::StepCost cost = TrainingWorkload::step_cost();
  cost.exchange_bytes += parallel::table_exchange_bytes(
      config_.embeddings, training(), parallel::place(config_.embeddings, around().world.size()),
      around().world.rank());
  return cost;
}

std::vector<std::string> Dlrm::keys_without_effect() const {
  std::vector<std::string> keys = parallel::idle_keys(config_.gradients);
  keys.insert(keys.end(), {"/dataset/prefetch_batches", "/epochs", "/embeddings/alltoall",
                           "/embeddings/memory_limit_gib"});
  return keys;
}

}  // namespace

std::unique_ptr<runner::Workload> make_workload(const runner::RunConfig& run,
                                                const runner::Surroundings& around) {
  const Config config = parse_config(run.reader);
  const auto data = std::make_shared<ClickData>(data_options(config, run.seed), around.world,
                                                around.topology, around.telemetry.clock());
  data->expect(parallel::ahead_of(run, around, memory_needs));
  return std::make_unique<Dlrm>(config, data, run, around);
}

namespace {

/// Bytes of a rank's scores and labels, and of roc_auc().
std::int64_t evaluation_bytes(std::int64_t samples, int ranks) {
  return samples * 2 * static_cast<std::int64_t>(sizeof(float)) +
         parallel::roc_auc_bytes(samples, ranks);
}

}  // namespace

runner::MemoryNeeds memory_needs(const runner::RunConfig& run, const runner::PlannedRank& place) {
  const Config config = parse_config(run.reader);
  const parallel::DataParallelConfig dense = dense_config(config);
  const auto optimizer = make_dense_optimizer(run.reader);
  runner::MemoryNeeds needs =
      parallel::memory_needs(build_network(config.model), dense, place, *optimizer);
  const parallel::TablePlacement placement = parallel::place(config.embeddings, place.ranks);
  needs.rank.merge(
      parallel::HybridParallel::memory_bytes(config.embeddings, dense, placement, place.rank));
  const std::int64_t samples =
      parallel::split_batch(dense, place.ranks).slices[static_cast<std::size_t>(place.rank)].count;
  // Raw and decoded batches, which are equally large, and two in use, for training and for
  // evaluation.
  needs.rank["input batches"] = 2 * (2 * (config.data.prefetch_batches + 1) + 2) * samples *
                                config.data.format.record_bytes();
  if (config.data.test_samples > 0) {
    needs.rank["scores of the evaluation"] = evaluation_bytes(
        evaluation_part(config.data.test_samples, place.ranks, place.rank).count, place.ranks);
  }
  return needs;
}

}  // namespace dlrm
