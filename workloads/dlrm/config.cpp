// Reads the sections of a DLRM configuration.
#include "workloads/dlrm/config.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "runner/base/error.h"
#include "runner/base/units.h"
#include "staging/staging_config.h"
#include "workloads/optimizer/divisor_range.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer_config.h"
#include "workloads/optimizer/schedule.h"
#include "workloads/parallel/training_keys.h"

namespace dlrm {
namespace {

/// Training samples of the benchmark: days 0 to 22 of the Criteo Terabyte click logs.
constexpr std::int64_t kCriteoTrainSamples = 4195197692;

base::Check<double> limit_range() {
  return {"must be 0, or from 1 byte to below 2^62 bytes", [](const double& gib) {
            return gib == 0.0 || (gib * base::kGibibyte >= 1.0 && gib * base::kGibibyte < 0x1p62);
          }};
}

ClickDataOptions parse_data(const base::ObjectReader& in, const ModelConfig& model) {
  ClickDataOptions data;
  data.train = in.required<std::string>("train", "file of training records", base::whole_path());
  data.test = in.required<std::string>("test", "file of evaluation records", base::whole_path());
  data.train_samples = in.optional<std::int64_t>(
      "train_samples", 0, "records; when both counts are given no sample is read before run_start",
      base::within(0, dataset::kMostClicks));
  data.test_samples = in.optional<std::int64_t>("test_samples", 0, "records",
                                                base::within(0, dataset::kMostClicks));
  data.shuffle = in.choice<Shuffle>(
      "shuffle", data.shuffle, {{"batches", Shuffle::kBatches}, {"none", Shuffle::kNone}},
      "batches: an epoch visits the batches of the file in an order of its own; none: in the "
      "file's");
  data.ids.max_ind_range = in.optional<std::int64_t>(
      "max_ind_range", 0, "ids are taken modulo this; 0: as they are", base::at_least(0));
  data.prefetch_batches = static_cast<int>(
      in.optional<std::int64_t>("prefetch_batches", data.prefetch_batches,
                                "batches ready ahead of need", base::within(1, 1024)));
  data.ids.rows = model.tables;
  data.format = {model.dense_features, static_cast<std::int64_t>(model.tables.size())};
  return data;
}

parallel::EmbeddingConfig parse_embeddings(const base::ObjectReader& in, const ModelConfig& model) {
  parallel::EmbeddingConfig config;
  config.tables = table_specs(model);
  config.storage = in.choice("storage", config.storage, nn::table_storages(),
                             "of weights; split_bf16: sums are of the upper halves of floats, "
                             "updates of the whole");
  config.rule = in.choice("optimizer", config.rule, nn::sparse_rules(),
                          "how gradients change rows; duplicates within a batch are added first "
                          "where it matters");
  std::vector<std::pair<std::string, std::optional<nn::TableUpdate>>> updates = {
      {"auto", std::nullopt}};
  for (const auto& [name, update] : nn::table_updates()) updates.emplace_back(name, update);
  config.update = in.choice("update", config.update, updates,
                            "how threads share an update; auto is deterministic and fast");
  config.epsilon =
      in.optional<double>("epsilon", config.epsilon, "of the Adagrad rules", nn::divisor_range());
  config.learning_rate_factor = in.optional<double>(
      "learning_rate_factor", config.learning_rate_factor,
      "the tables' learning rate over that of the schedule, which is the layers'",
      base::positive());
  config.alltoall = in.choice("alltoall", config.alltoall, parallel::alltoall_variants(),
                              "in how many operations outputs go to their samples");
  config.payload =
      in.choice("payload", config.payload, parallel::precisions(), "of floats between ranks");
  const double limit = in.optional<double>("memory_limit_gib", 0.0,
                                           "of a rank for its tables; 0: none", limit_range());
  config.memory_limit_bytes = std::llround(limit * base::kGibibyte);
  config.replicate_up_to_rows = in.optional<std::int64_t>(
      "replicate_up_to_rows", 0, "tables of at most so many rows are on every rank",
      base::at_least(0));
  return config;
}

/// Checks each table as a whole. The memory limit is not checked: the number of ranks is unknown.
void check_tables(parallel::EmbeddingConfig config) {
  config.memory_limit_bytes = 0;
  for (const nn::TableOptions& table : parallel::shards_of(config, parallel::place(config, 1), 0)) {
    nn::check_options(table);
  }
}

}  // namespace

Config parse_config(const base::ObjectReader& root) {
  Config config;
  config.model = parse_model(root.object("model", "the network and its tables"));
  config.data = parse_data(root.object("dataset", "where samples come from"), config.model);
  config.data.staging = staging::parse_staging(root.object("staging", "node-local copies"));
  config.embeddings = parse_embeddings(root.object("embeddings", "the tables"), config.model);
  const auto training = root.object("training", "how an update is made");
  config.global_batch_size =
      training.required<std::int64_t>("global_batch_size", "samples of one update, on all ranks",
                                      base::within(1, std::numeric_limits<std::int32_t>::max()));
  config.arithmetic = parallel::parse_arithmetic(training);
  config.gradients = parallel::parse_gradient_travel(training);
  config.data.global_batch = config.global_batch_size;
  config.epochs = root.required<std::int64_t>("epochs", "passes over the training set at most",
                                              base::at_least(1));
  check_tables(config.embeddings);
  return config;
}

std::unique_ptr<nn::Optimizer> make_dense_optimizer(const base::ObjectReader& root) {
  nn::SgdConfig plain;
  plain.momentum = 0.0;
  return nn::make_optimizer(root.object("optimizer", "how gradients change the dense layers"),
                            plain);
}

void check_config(const base::ObjectReader& root) {
  const Config config = parse_config(root);
  (void)make_dense_optimizer(root);
  // Without a count the number of steps per epoch is unknown here. To check the relations between
  // keys, assume the benchmark's count.
  const std::int64_t samples =
      config.data.train_samples > 0 ? config.data.train_samples : kCriteoTrainSamples;
  const std::int64_t steps = 1 + (samples - 1) / config.global_batch_size;
  (void)nn::parse_schedule(root.object("schedule", "learning rate by update"),
                           config.global_batch_size, steps, config.epochs);
}

}  // namespace dlrm
