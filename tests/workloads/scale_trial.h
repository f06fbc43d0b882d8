// What `scale` counts of a training, against what a training counts, on any number of ranks.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "runner/training_scale.h"
#include "workloads/resume_trial.h"

namespace workload_trial {

using Scale = runner::TrainingScale (*)(const runner::RunConfig&, const runner::PlannedRank&);

/// Collective. Trains whole epochs of `config`, whose dataset has `samples`, on nodes of
/// `node_ranks` ranks.
template <class OwnTrial>
void expect_counts_of_scale(const runner::Communicator& world, runner::Topology topology,
                            int node_ranks, nlohmann::json config, std::int64_t samples,
                            Scale scale_of) {
  using telemetry::Counter;
  OwnTrial trial(world, std::move(topology), config);
  const std::int64_t steps = 2 * trial.workload().info().steps_per_epoch;
  trial.workload().train(steps);
  (void)trial.workload().replica_hash();  // ends the last update, in which nodes send weights
  std::array<std::int64_t, 4> sums = {
      trial.count(Counter::kFlops), trial.count(Counter::kTrainSamples),
      trial.count(Counter::kGradientBytesSent), trial.count(Counter::kGradientMessagesSent)};
  const std::int64_t most_bytes = world.allreduce_max(sums[2]);
  const std::int64_t most_messages = world.allreduce_max(sums[3]);
  world.allreduce_sum(std::span<std::int64_t>(sums));

  config["dataset"]["train_samples"] = samples;
  const base::ObjectReader reader(config, "test.json");
  const runner::TrainingScale scale =
      scale_of(runner::parse_run_config(reader, "test.json"), {0, world.size(), node_ranks, 1});
  EXPECT_EQ(scale.steps_per_epoch, trial.workload().info().steps_per_epoch);
  EXPECT_EQ(scale.parameters, trial.workload().info().parameters);
  EXPECT_EQ(steps * scale.global_batch * scale.training_flops, sums[0]);
  EXPECT_EQ(steps * scale.global_batch, sums[1]);
  EXPECT_EQ(steps * scale.gradients.all.bytes, sums[2]);
  EXPECT_EQ(steps * scale.gradients.all.messages, sums[3]);
  EXPECT_EQ(steps * scale.gradients.rank.bytes, most_bytes);
  EXPECT_EQ(steps * scale.gradients.rank.messages, most_messages);
  EXPECT_EQ(most_bytes > 0, scale.nodes > 1);
}

/// Collective. With every rank on a node of its own, and two ranks on each node, and with each way
/// of sending gradients.
template <class OwnTrial>
void expect_counts_of_scale(const runner::Communicator& world, const nlohmann::json& config,
                            std::int64_t samples, Scale scale_of) {
  for (const char* const payload : {"f32", "int8", "top_k"}) {
    for (const int piece_kib : {16, 1024}) {
      nlohmann::json one = config;
      one["training"]["gradient_payload"] = payload;
      one["training"]["gradient_piece_kib"] = piece_kib;
      expect_counts_of_scale<OwnTrial>(world, apart(world), 1, one, samples, scale_of);
      expect_counts_of_scale<OwnTrial>(world, in_pairs(world), 2, one, samples, scale_of);
    }
  }
  nlohmann::json divided = config;
  divided["training"]["divided_update"] = true;
  expect_counts_of_scale<OwnTrial>(world, apart(world), 1, divided, samples, scale_of);
}

}  // namespace workload_trial
