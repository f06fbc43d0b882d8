// Tests of the workload on click files: several ranks train and evaluate as one rank does.
#include "workloads/dlrm/workload.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <optional>

#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "staging/dataset/criteo.h"
#include "workloads/dlrm/trial.h"
#include "workloads/parallel/statistics_exchange.h"
#include "workloads/whole_sink.h"

namespace {

namespace fs = std::filesystem;
using dlrm::config_of;
using dlrm::kBatch;
using dlrm::kTestSamples;
using dlrm::SharedClicks;
using dlrm::Trial;
using nlohmann::json;
using testing::HasSubstr;
using workload_trial::MemoryState;
using workload_trial::update_error;

class DlrmWorkload : public testing::Test {
 protected:
  /// A configuration without shuffling: step i is block i of the training file; the fifth is short.
  json in_order(const std::string& staging = "stream") const {
    json config = config_of(clicks_, staging);
    config["dataset"]["shuffle"] = "none";
    return config;
  }
  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  const SharedClicks clicks_{world_};
};

TEST_F(DlrmWorkload, DoesTheMathematicsOfOneRank) {
  Trial many(world_, in_order("shard")), one(alone_, in_order());
  EXPECT_EQ(many.workload().info().train_samples, 300);
  EXPECT_EQ(many.workload().info().eval_samples, kTestSamples);
  EXPECT_EQ(many.workload().info().steps_per_epoch, 5);
  MemoryState start = one.saved_weights();
  EXPECT_NEAR(many.workload().evaluate(nullptr), one.workload().evaluate(nullptr), 1e-12);
  for (int step = 1; step <= 6; ++step) {
    const runner::TrainResult of_many = many.workload().train(1), of_one = one.workload().train(1);
    EXPECT_EQ(of_many.samples, step == 5 ? 300 % kBatch : kBatch) << "step " << step;
    EXPECT_EQ(of_one.samples, of_many.samples);
    EXPECT_NEAR(of_many.mean_loss, of_one.mean_loss, 1e-6 * of_one.mean_loss) << "step " << step;
  }
  EXPECT_NEAR(many.workload().evaluate(nullptr), one.workload().evaluate(nullptr), 1e-12);
  MemoryState weights_many = many.saved_weights(), weights_one = one.saved_weights();
  if (world_.rank() == 0) {
    EXPECT_LT(update_error(start.arrays, weights_many.arrays, weights_one.arrays), 1e-5);
  }
  const auto hash = static_cast<std::int64_t>(many.workload().replica_hash() >> 1U);
  EXPECT_EQ(world_.allreduce_min(hash), world_.allreduce_max(hash));
  many.workload().clean_up();
  EXPECT_TRUE(!fs::exists(clicks_.path() + "/staged") || fs::is_empty(clicks_.path() + "/staged"));
}

TEST_F(DlrmWorkload, DisclosesOnHowManyRanksItsTablesAre) {
  json config = in_order();
  config["embeddings"]["payload"] = "bf16";
  Trial many(world_, config), one(alone_, config);
  const runner::Disclosure of_many = many.workload().info().disclosure,
                           of_one = one.workload().info().disclosure;
  EXPECT_EQ(of_one.tensor_ranks, 1);
  EXPECT_EQ(of_one.communication, "fp32");
  EXPECT_EQ(of_one.micro_batch_size, kBatch);
  EXPECT_EQ(of_many.tensor_ranks > 1, world_.size() > 1);
  EXPECT_LE(of_many.tensor_ranks, world_.size());
  EXPECT_EQ(of_many.communication, world_.size() > 1 ? "bfloat16" : "fp32");
  EXPECT_EQ(of_many.micro_batch_size, base::ceil_div(kBatch, world_.size()));
}

/// A step on 44 samples takes the mean over 44, whether the batch size is 64 or 44.
TEST_F(DlrmWorkload, TakesTheMeanOfAShortBatchOverItsOwnSamples) {
  const SharedClicks few(world_, 44);
  json fitting = config_of(few, "stream");
  fitting["training"]["global_batch_size"] = 44;
  Trial shorter(world_, config_of(few, "stream")), exact(world_, fitting);
  EXPECT_EQ(shorter.workload().info().steps_per_epoch, 1);
  MemoryState start = exact.saved_weights();
  const runner::TrainResult of_short = shorter.workload().train(1),
                            of_exact = exact.workload().train(1);
  EXPECT_EQ(of_short.samples, 44);
  EXPECT_NEAR(of_short.mean_loss, of_exact.mean_loss, 1e-6 * of_exact.mean_loss);
  MemoryState weights_short = shorter.saved_weights(), weights_exact = exact.saved_weights();
  if (world_.rank() != 0) return;
  EXPECT_LT(update_error(start.arrays, weights_short.arrays, weights_exact.arrays), 1e-5);
}

double plain_auc(const runner::WholeSink& sink) {
  double wins = 0.0, pairs = 0.0;
  for (std::size_t i = 0; i < sink.labels.size(); ++i) {
    for (std::size_t j = 0; j < sink.labels.size(); ++j) {
      if (sink.labels[i] != 1 || sink.labels[j] != 0) continue;
      pairs += 1.0;
      wins += sink.outputs[i] > sink.outputs[j]    ? 1.0
              : sink.outputs[i] == sink.outputs[j] ? 0.5
                                                   : 0.0;
    }
  }
  return wins / pairs;
}

/// The ranks' parts of 101 samples, and of a batch of 13, are uneven.
TEST_F(DlrmWorkload, EvaluatesEverySampleOnceAndTellsOutputsInTheOrderOfTheFile) {
  for (const std::int64_t batch : {13, 64, 1000}) {
    json config = in_order();
    config["training"]["global_batch_size"] = batch;
    Trial trial(world_, config), one(alone_, config);
    trial.workload().train(1);
    one.workload().train(1);
    const std::int64_t before = trial.count(telemetry::Counter::kEvalSamples);
    runner::WholeSink sink, sink_of_one;
    const double area = trial.workload().evaluate(world_.rank() == 0 ? &sink : nullptr);
    std::int64_t samples = trial.count(telemetry::Counter::kEvalSamples) - before;
    world_.allreduce_sum(std::span<std::int64_t>(&samples, 1));
    EXPECT_EQ(samples, kTestSamples);
    EXPECT_NEAR(one.workload().evaluate(&sink_of_one), area, 1e-12);
    if (world_.rank() != 0) continue;
    ASSERT_EQ(sink.labels.size(), static_cast<std::size_t>(kTestSamples));
    const dataset::ClickFile file(clicks_.path() + "/data/test.bin", {5, 5});
    std::vector<std::int32_t> record(11);
    for (std::int64_t i = 0; i < kTestSamples; ++i) {
      file.read(i, 1, record);
      EXPECT_EQ(sink.labels[static_cast<std::size_t>(i)], record[0]) << i;
    }
    for (std::size_t i = 0; i < sink.outputs.size(); ++i) {
      EXPECT_NEAR(sink.outputs[i], sink_of_one.outputs[i], 1e-5F) << i;
    }
    EXPECT_NEAR(area, plain_auc(sink), 1e-12) << "batch " << batch;
  }
}

TEST_F(DlrmWorkload, GivesTheSameBitsAgain) {
  std::optional<MemoryState> weights;
  for (int i = 0; i < 2; ++i) {
    Trial trial(world_, config_of(clicks_, "stream"));
    trial.workload().train(7);
    MemoryState now = trial.saved_weights();
    if (weights) {
      EXPECT_EQ(now.arrays, weights->arrays);
    }
    weights = std::move(now);
  }
}

/// Copies rank 0's state to every rank, as if all had read it from a file.
MemoryState on_every_rank(const runner::Communicator& world, const MemoryState& state) {
  MemoryState all;
  std::string names;
  for (const std::string& name : state.names()) names += name + "\n";
  std::istringstream list(world.broadcast(names, 0));
  for (std::string name; std::getline(list, name);) {
    const bool is_mine = world.rank() == 0;
    std::vector<std::int64_t> shape = is_mine ? state.shape(name) : std::vector<std::int64_t>(2);
    std::int64_t extents = static_cast<std::int64_t>(shape.size());
    world.broadcast(std::as_writable_bytes(std::span(&extents, 1)), 0);
    shape.resize(static_cast<std::size_t>(extents));
    world.broadcast(std::as_writable_bytes(std::span(shape)), 0);
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    std::vector<float> values =
        is_mine ? state.read(name, shape) : std::vector<float>(static_cast<std::size_t>(count));
    world.broadcast(std::as_writable_bytes(std::span(values)), 0);
    all.write(name, shape, values);
  }
  return all;
}

TEST_F(DlrmWorkload, LoadsWhatItSaved) {
  Trial trained(world_, config_of(clicks_, "stream"));
  trained.workload().train(2);
  MemoryState saved = trained.saved_weights();
  const MemoryState state = on_every_rank(world_, saved);
  json config = config_of(clicks_, "stream");
  config["seed"] = 12;
  config["embeddings"] = {{"replicate_up_to_rows", 10}};
  Trial loaded(world_, config);
  world_.barrier();  // the ranks of a node share one copy of the weights
  loaded.workload().load_weights(state);
  EXPECT_EQ(loaded.saved_weights().arrays, saved.arrays);
  EXPECT_EQ(loaded.workload().evaluate(nullptr), trained.workload().evaluate(nullptr));
}

TEST_F(DlrmWorkload, HasNoQualityWithWeightsThatAreNotNumbers) {
  json config = config_of(clicks_, "stream");
  config["embeddings"] = {{"replicate_up_to_rows", 10}};
  Trial trial(world_, config);
  MemoryState saved = trial.saved_weights();
  workload_trial::expect_no_quality_with_nan(world_, trial.workload(),
                                             on_every_rank(world_, saved));
}

TEST_F(DlrmWorkload, RefusesWeightsOfAnotherModel) {
  Trial trial(world_, config_of(clicks_, "stream"));
  MemoryState saved = trial.saved_weights();
  MemoryState state = on_every_rank(world_, saved);
  state.write("emb_l.9.weight", {1}, std::vector<float>{1.0F});
  EXPECT_THAT(base::thrown_message<base::DataError>([&] { trial.workload().load_weights(state); }),
              HasSubstr("emb_l.9.weight: this model has no such array"));
  state.arrays.erase("emb_l.9.weight");
  state.write("top_l.0.weight", {1}, std::vector<float>{1.0F});
  EXPECT_THROW(trial.workload().load_weights(state), base::DataError);
}

TEST_F(DlrmWorkload, TouchesNoFileBeforeStagingWhenCountsAreGiven) {
  json config = config_of(SharedClicks(world_), "stream");  // the files are deleted already
  config["dataset"]["train_samples"] = 300;
  config["dataset"]["test_samples"] = kTestSamples;
  const base::ObjectReader reader(config, "test.json");
  const base::SystemClock clock;
  telemetry::Telemetry telemetry(clock);
  const runner::Topology topology = runner::discover_topology(world_);
  const auto workload = dlrm::make_workload(runner::parse_run_config(reader, "test.json"),
                                            {world_, topology, telemetry, 1});
  workload->open_data();
  workload->initialize();
  EXPECT_EQ(workload->info().train_samples, 300);
  EXPECT_EQ(workload->info().steps_per_epoch, 5);
  EXPECT_THROW(workload->stage(), base::Error);
}

/// Bytes sent between the ranks of a placement in a step: for each shard and each sample of another
/// rank, an id, and the shard's columns forward and backward.
std::int64_t bytes_between_ranks(const json& plan) {
  const auto slices = parallel::slice_pass(kBatch, static_cast<int>(plan["ranks"].size()));
  std::int64_t bytes = 0;
  for (const json& rank : plan["ranks"]) {
    const std::int64_t others = kBatch - slices[rank["rank"].get<std::size_t>()].count;
    for (const json& shard : rank["shards"]) {
      bytes += others * 4 * (1 + 2 * shard["columns"].get<std::int64_t>());
    }
  }
  return bytes;
}

TEST_F(DlrmWorkload, CountsWhatTablesSendToOtherRanks) {
  Trial trial(world_, config_of(clicks_, "stream"));
  const std::int64_t rows = 50 + 7 + 200 + 3 + 31;
  const std::int64_t layers = trial.workload().info().parameters - rows * 40;
  std::vector<std::int64_t> tables = {trial.workload().step_cost().exchange_bytes - 4 * layers};
  world_.allreduce_sum(std::span(tables));
  EXPECT_EQ(tables[0], bytes_between_ranks(trial.workload().placement_plan()));
  EXPECT_EQ(tables[0] > 0, world_.size() > 1);

  json replicated = config_of(clicks_, "stream");
  replicated["embeddings"]["replicate_up_to_rows"] = 1000;
  Trial everywhere(world_, replicated);
  EXPECT_EQ(everywhere.workload().step_cost().exchange_bytes - 4 * layers,
            world_.size() > 1 ? 4 * rows * 40 : 0)
      << "gradients of all rows";
}

TEST_F(DlrmWorkload, CleansUpInTheMiddleOfARun) {
  json config = config_of(clicks_, "shard");
  config["epochs"] = 50;  // the reading thread is far from the end
  config["dataset"]["test"] = config["dataset"]["train"];
  Trial trial(world_, config);
  trial.workload().train(1);
  trial.workload().clean_up();
  EXPECT_TRUE(fs::is_empty(clicks_.path() + "/staged"));
}

}  // namespace
