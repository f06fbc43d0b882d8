// Trainings that are saved within an epoch and resumed, for tests on any number of ranks.
// Hides where a state is saved, and how its arrays are compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/thrown_message.h"
#include "staging/checkpoint_file.h"
#include "staging/h5.h"
#include "workloads/workload_trial.h"

namespace workload_trial {

using Bits = std::map<std::string, std::vector<std::byte>>;

/// What this rank has of every array.
inline Bits bits_of(Trial& trial) {
  Bits bits;
  for (const base::StateArray& array : trial.workload().state()) {
    std::vector<std::byte> scratch;
    const auto bytes = array.bytes(scratch);
    bits[array.name].assign(bytes.begin(), bytes.end());
  }
  return bits;
}

/// Each rank as a node of its own.
inline runner::Topology apart(const runner::Communicator& world) {
  std::vector<int> nodes(static_cast<std::size_t>(world.size()));
  std::iota(nodes.begin(), nodes.end(), 0);
  return {world.split(world.rank(), 0), world.rank(), world.size(), std::move(nodes)};
}

/// Two ranks on each node, the last one alone if their number is odd.
inline runner::Topology in_pairs(const runner::Communicator& world) {
  std::vector<int> nodes(static_cast<std::size_t>(world.size()));
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) nodes[rank] = static_cast<int>(rank / 2);
  const int nodes_in_all = nodes.back() + 1;
  return {world.split(world.rank() / 2, world.rank()), world.rank() / 2, nodes_in_all,
          std::move(nodes)};
}

/// Between nodes, whoever reads weights or the optimizer's state ends the update that waits for the
/// next pass: all get the bits of updates at once.
template <class OwnTrial>
void expect_late_bits(const runner::Communicator& world, const nlohmann::json& config) {
  nlohmann::json changed = config;
  changed["training"]["late_update"] = false;
  OwnTrial late(world, apart(world), config), at_once(world, apart(world), changed);
  for (OwnTrial* trial : {&late, &at_once}) trial->workload().train(2);
  EXPECT_EQ(late.workload().replica_hash(), at_once.workload().replica_hash());
  for (OwnTrial* trial : {&late, &at_once}) trial->workload().train(1);
  EXPECT_EQ(bits_of(late), bits_of(at_once));
  for (OwnTrial* trial : {&late, &at_once}) trial->workload().train(1);
  EXPECT_EQ(late.workload().evaluate(nullptr), at_once.workload().evaluate(nullptr));
  for (OwnTrial* trial : {&late, &at_once}) trial->workload().train(1);
  EXPECT_EQ(late.weights(), at_once.weights());
}

/// The steps of a training: `begin` and an evaluation, one more and it is saved, within an epoch;
/// the `rest` of that epoch and an evaluation, as many `after` it and an evaluation, one more.
struct Course {
  std::int64_t begin, rest, after;
};

/// `Data` is a folder that all ranks see; Base is testing::Test, or one with a parameter.
template <class OwnTrial, class Data, class Base = testing::Test>
class ResumeTest : public Base {
 protected:
  explicit ResumeTest(const Course& course) : course_(course) {}

  /// Ends where it is saved.
  void first_part(Trial& trial) const {
    trial.workload().train(course_.begin);
    trial.workload().evaluate(nullptr);
    trial.workload().train(1);
  }
  /// What follows; returns qualities and a loss.
  std::vector<double> second_part(Trial& trial) const {
    std::vector<double> told;
    trial.workload().train(course_.rest);
    told.push_back(trial.workload().evaluate(nullptr));
    told.push_back(trial.workload().train(course_.after).mean_loss);
    told.push_back(trial.workload().evaluate(nullptr));
    trial.workload().train(1);
    return told;
  }
  void save(Trial& trial) const {
    staging::write_checkpoint(world_, path(), "", trial.workload().state());
  }
  /// Puts back what was saved behind the first part; `ranks` are the trial's.
  void restore(Trial& trial, const runner::Communicator& ranks) const {
    const staging::CheckpointReader reader(ranks, path());
    trial.workload().restore(reader, course_.begin + 1);
  }

  /// One that is resumed ends as the one that was saved.
  void expect_resumed_bits(const nlohmann::json& config) const { saved_and_resumed(config); }
  /// The same, and as one that was not saved.
  void expect_same_bits(const nlohmann::json& config) const {
    const End expected = saved_and_resumed(config);
    OwnTrial undisturbed(world_, config);
    first_part(undisturbed);
    EXPECT_EQ(second_part(undisturbed), expected.told);
    EXPECT_EQ(bits_of(undisturbed), expected.bits);
  }
  /// Between nodes, what a payload left out of the gradients is saved and resumed, too.
  void expect_kept_rests(nlohmann::json config) const {
    config["training"]["gradient_density"] = 0.05;
    for (const char* payload : {"bf16", "int8", "top_k"}) {
      config["training"]["gradient_payload"] = payload;
      expect_kept_rests(config, apart);
      if (std::string(payload) == "int8") expect_kept_rests(config, in_pairs);
    }
  }
  /// Whether nodes divide the optimizer's state, before it is saved and after it is resumed, shows
  /// in no array.
  void expect_divided_state(nlohmann::json config) const {
    nlohmann::json divided = config;
    divided["training"]["divided_update"] = true;
    OwnTrial saved(world_, in_pairs(world_), divided), resumed(world_, in_pairs(world_), divided);
    saved.workload().train(2);
    save(saved);
    std::int64_t bytes = 0;
    for (const base::StateArray& array : saved.workload().state()) bytes += array.total_bytes();
    EXPECT_EQ(saved.workload().state_bytes(), bytes);
    const staging::CheckpointReader reader(world_, path());
    resumed.workload().restore(reader, 2);
    EXPECT_EQ(bits_of(resumed), bits_of(saved));
    saved.workload().train(2);
    resumed.workload().train(2);
    EXPECT_EQ(bits_of(resumed), bits_of(saved));

    OwnTrial whole(world_, in_pairs(world_), config);
    whole.workload().restore(reader, 2);
    int arrays = 0;
    for (const base::StateArray& array : whole.workload().state()) {
      if (array.holding != base::Holding::kEveryRank) continue;
      std::vector<std::byte> scratch, of_file(static_cast<std::size_t>(array.total_bytes()));
      const auto mine = array.bytes(scratch);
      reader.read(array.name, array.element, array.shape, of_file);
      EXPECT_TRUE(std::ranges::equal(mine, of_file)) << array.name;
      arrays += array.name.starts_with("resume/momentum/") ? 1 : 0;
    }
    EXPECT_GT(arrays, 1);
    save(whole);
    OwnTrial again(world_, in_pairs(world_), divided);
    const staging::CheckpointReader second(world_, path());
    again.workload().restore(second, 2);
    again.workload().train(2);
    EXPECT_EQ(bits_of(again), bits_of(saved));
    whole.workload().train(2);
    EXPECT_EQ(whole.workload().replica_hash(), saved.workload().replica_hash());
  }
  /// On fewer nodes the first one has the sum of all rests.
  void expect_rests_of_fewer_nodes(nlohmann::json config) const {
    if (world_.size() < 3) return;
    config["training"]["gradient_payload"] = "int8";
    OwnTrial saved(world_, apart(world_), config);
    saved.workload().train(2);
    save(saved);
    const bool stays = world_.rank() + 1 < world_.size();
    const runner::Communicator fewer = world_.split(stays ? 0 : 1, world_.rank());
    OwnTrial resumed(fewer, apart(fewer), config);
    const staging::CheckpointReader reader(fewer, path());
    resumed.workload().restore(reader, 2);
    if (!stays) return;
    int arrays = 0;
    bool is_any = false;
    for (const auto& [name, mine] : bits_of(resumed)) {
      if (!is_rest(name)) continue;
      ++arrays;
      const auto nodes = static_cast<std::size_t>(reader.shape(name).front());
      const std::size_t floats = mine.size() / sizeof(float);
      std::vector<float> all(nodes * floats), sum(floats), got(floats);
      reader.read_rows(name, base::ElementType::kFloat32, 0,
                       std::as_writable_bytes(std::span(all)));
      std::memcpy(got.data(), mine.data(), mine.size());
      for (std::size_t i = 0; i < all.size() && fewer.rank() == 0; ++i) sum[i % floats] += all[i];
      EXPECT_EQ(got, sum) << name;
      is_any = is_any || std::ranges::any_of(sum, [](float one) { return one != 0.0F; });
    }
    EXPECT_GT(arrays, 1);
    EXPECT_EQ(is_any, fewer.rank() == 0);
  }
  void expect_size_told_beforehand(const nlohmann::json& config) const {
    OwnTrial trial(world_, config);
    std::int64_t bytes = 0;
    for (const base::StateArray& array : trial.workload().state()) bytes += array.total_bytes();
    EXPECT_EQ(trial.workload().state_bytes(), bytes) << config;
  }
  void expect_weights_that_can_be_evaluated(const nlohmann::json& config) const {
    OwnTrial saved(world_, config);
    first_part(saved);
    save(saved);
    nlohmann::json other_seed = config;
    other_seed["seed"] = 12;
    OwnTrial other(world_, other_seed);
    world_.barrier();  // the ranks of a node have one copy of the weights
    other.workload().load_weights(staging::H5StateReader(path()));
    EXPECT_EQ(other.workload().replica_hash(), saved.workload().replica_hash());
    EXPECT_EQ(other.workload().evaluate(nullptr), saved.workload().evaluate(nullptr));
  }
  /// What a model says to the state of another.
  std::string refusal(const nlohmann::json& config, const nlohmann::json& of_another) const {
    OwnTrial saved(world_, of_another);
    save(saved);
    OwnTrial trial(world_, config);
    const staging::CheckpointReader reader(world_, path());
    return base::thrown_message<base::Error>([&] { trial.workload().restore(reader, 0); });
  }

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  const Data data_{world_};

 private:
  struct End {
    std::vector<double> told;
    Bits bits;
  };
  static bool is_rest(const std::string& name) { return name.starts_with("resume/gradient_rest/"); }
  void expect_kept_rests(const nlohmann::json& config,
                         runner::Topology (*nodes_of)(const runner::Communicator&)) const {
    OwnTrial saved(world_, nodes_of(world_), config), resumed(world_, nodes_of(world_), config);
    saved.workload().train(2);
    save(saved);
    std::int64_t bytes = 0, rest_bytes = 0;
    for (const base::StateArray& array : saved.workload().state()) {
      bytes += array.total_bytes();
      rest_bytes += is_rest(array.name) ? array.total_bytes() : 0;
    }
    EXPECT_EQ(saved.workload().state_bytes(), bytes) << config;
    saved.workload().train(2);
    const staging::CheckpointReader reader(world_, path());
    resumed.workload().restore(reader, 2);
    resumed.workload().train(2);
    const Bits bits = bits_of(resumed);
    EXPECT_EQ(bits, bits_of(saved)) << config;
    const runner::Topology nodes = nodes_of(world_);
    std::int64_t left = 0;
    for (const auto& [name, of_rank] : bits) {
      if (is_rest(name))
        left += std::ranges::count_if(of_rank, [](auto b) { return b != std::byte(); });
    }
    EXPECT_EQ(rest_bytes > 0, nodes.node_count > 1);
    EXPECT_EQ(left > 0, nodes.node_count > 1 && nodes.is_node_leader()) << config;
  }
  /// How a training ends that is saved on the way.
  End saved_and_resumed(const nlohmann::json& config) const {
    OwnTrial saved(world_, config), resumed(world_, config);
    first_part(saved);
    save(saved);
    End end;
    end.told = second_part(saved);
    end.bits = bits_of(saved);
    restore(resumed, world_);
    EXPECT_EQ(second_part(resumed), end.told);
    EXPECT_EQ(bits_of(resumed), end.bits);
    EXPECT_EQ(resumed.workload().replica_hash(), saved.workload().replica_hash());
    return end;
  }
  std::string path() const { return data_.path() + "/checkpoint.h5"; }
  const Course course_;
};

}  // namespace workload_trial
