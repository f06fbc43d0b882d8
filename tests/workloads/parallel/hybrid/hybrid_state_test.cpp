// Tests of checkpoints of hybrid-parallel training: a resumed run has the same bits on the same
// number of ranks, and agrees with an undisturbed run on other numbers.
#include <gmock/gmock.h>

#include "runner/base/error.h"
#include "runner/base/thrown_message.h"
#include "shared_directory.h"
#include "staging/checkpoint_file.h"
#include "workloads/parallel/hybrid/hybrid_trial.h"

namespace parallel {
namespace {

using testing::HasSubstr;
using Bits = std::map<std::string, std::vector<std::byte>>;

constexpr int kStepsBefore = 3, kStepsAfter = 2;

/// Width 40 splits into 16, 16 and 8 columns. On more than one rank the small tables are
/// replicated.
HybridCase case_of(nn::SparseRule rule, nn::TableStorage storage) {
  HybridCase one{"", tables_of({300, 9, 120, 4}, 40)};
  one.embeddings.rule = rule;
  one.embeddings.storage = storage;
  one.embeddings.replicate_up_to_rows = 9;
  one.embeddings.tables[1].bag_size = 2;
  one.embeddings.tables[2].bag_size = 3;
  one.momentum = 0.9;
  one.learning_rate = rule == nn::SparseRule::kSgd ? 0.2 : 0.05;
  one.name = nn::to_string(rule) + "_" + nn::to_string(storage);
  return one;
}

std::vector<HybridCase> cases() {
  std::vector<HybridCase> all;
  for (const auto& [rule_name, rule] : nn::sparse_rules()) {
    for (const auto& [storage_name, storage] : nn::table_storages()) {
      all.push_back(case_of(rule, storage));
    }
  }
  return all;
}

/// This rank's bytes of every array.
Bits bits_of(HybridTrial& trial) {
  Bits bits;
  for (const base::StateArray& array : trial.state()) {
    std::vector<std::byte> scratch;
    const auto bytes = array.bytes(scratch);
    bits[array.name].assign(bytes.begin(), bytes.end());
  }
  return bits;
}

class HybridState : public testing::TestWithParam<HybridCase> {
 protected:
  std::string path(int writers) const {
    return folder_.path() + "/checkpoint_of_" + std::to_string(writers) + "_ranks.h5";
  }
  /// Collective over `ranks`. Trains and saves.
  void make_checkpoint(const runner::Communicator& ranks) const {
    HybridTrial trial(ranks, GetParam());
    trial.steps(kStepsBefore);
    staging::write_checkpoint(ranks, path(ranks.size()), "", trial.state());
  }
  /// Expects that `ranks` continue from the checkpoint of `writers` ranks as an undisturbed run
  /// does.
  void expect_continuation(const runner::Communicator& ranks, int writers) const {
    SCOPED_TRACE(std::to_string(writers) + " ranks, then " + std::to_string(ranks.size()));
    HybridTrial undisturbed(ranks, GetParam()), resumed(ranks, GetParam(), 6);
    const Arrays start = undisturbed.weights();
    undisturbed.steps(kStepsBefore);
    {
      const staging::CheckpointReader reader(ranks, path(writers));
      resumed.restore(reader, kStepsBefore);
    }
    expect_same_updates(start, resumed.weights(), undisturbed.weights(), kRounding);
    const double expected = undisturbed.steps(kStepsAfter);
    EXPECT_NEAR(resumed.steps(kStepsAfter), expected, 1e-5 * expected);
    expect_same_updates(start, resumed.weights(), undisturbed.weights(), kRounding);
  }
  /// Tolerance for sums over samples in a different order, over some steps.
  static constexpr double kRounding = 1e-4;

  const runner::Communicator world_ = runner::Communicator::world();
  const runner::Communicator alone_ = world_.split(-1, 0);
  /// The even ranks, and the odd ones.
  const runner::Communicator half_ = world_.split(world_.rank() % 2, world_.rank());
  const runner::SharedDirectory folder_{world_};
};

TEST_P(HybridState, EndsInTheSameBits) {
  HybridTrial undisturbed(world_, GetParam()), saved(world_, GetParam());
  undisturbed.steps(kStepsBefore);
  saved.steps(kStepsBefore);
  staging::write_checkpoint(world_, path(world_.size()), "", saved.state());
  HybridTrial resumed(world_, GetParam(), 6);
  EXPECT_NE(bits_of(resumed), bits_of(saved));
  {
    const staging::CheckpointReader reader(world_, path(world_.size()));
    resumed.restore(reader, kStepsBefore);
  }
  EXPECT_EQ(bits_of(resumed), bits_of(saved));
  const double loss = undisturbed.steps(kStepsAfter);
  EXPECT_EQ(saved.steps(kStepsAfter), loss);
  EXPECT_EQ(resumed.steps(kStepsAfter), loss);
  const Bits last = bits_of(undisturbed);
  EXPECT_EQ(bits_of(saved), last);  // saving changed nothing
  EXPECT_EQ(bits_of(resumed), last);
  EXPECT_EQ(resumed.model().replica_hash(), undisturbed.model().replica_hash());
}

TEST_P(HybridState, GoesOnOnFewerRanks) {
  make_checkpoint(world_);
  world_.barrier();
  expect_continuation(half_, world_.size());
  expect_continuation(alone_, world_.size());
}

TEST_P(HybridState, GoesOnOnMoreRanks) {
  const int even_ranks = (world_.size() + 1) / 2;
  if (world_.rank() == 0) make_checkpoint(alone_);
  if (world_.rank() % 2 == 0 && even_ranks > 1) make_checkpoint(half_);
  world_.barrier();
  expect_continuation(world_, 1);
  expect_continuation(world_, even_ranks);
}

TEST_P(HybridState, TellsTheBytesOfItsTables) {
  HybridTrial trial(world_, GetParam());
  std::int64_t bytes = 0;
  for (const base::StateArray& array : trial.state()) {
    if (array.name.find("table") != std::string::npos) bytes += array.total_bytes();
  }
  EXPECT_EQ(HybridParallel::state_bytes(GetParam().embeddings), bytes);
}

TEST_P(HybridState, ReadsTheTablesThatWereWritten) {
  HybridTrial trial(world_, GetParam());
  for (std::size_t table = 0; table < GetParam().embeddings.tables.size(); ++table) {
    const TableSpec& spec = GetParam().embeddings.tables[table];
    std::vector<float> rows;
    for (std::int64_t i = 0; i < spec.rows * spec.width; ++i) {
      rows.push_back(static_cast<float>(i) + 0.1F);
    }
    trial.model().write_table(table, rows);
    const std::vector<float> whole = trial.model().read_table(table);
    EXPECT_EQ(whole, world_.rank() == 0 ? rows : std::vector<float>()) << spec.name;
    rows.pop_back();
    if (!trial.model().has_part_of(table)) continue;
    EXPECT_THAT(
        base::thrown_message<base::ShapeError>([&] { trial.model().write_table(table, rows); }),
        HasSubstr(spec.name + ": expected "));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HybridState, testing::ValuesIn(cases()),
                         [](const auto& named) { return named.param.name; });

/// A table larger than one piece (kPieceFloats in hybrid_state.cpp), whole and split by columns.
TEST(HybridPieces, MakeUpALongTable) {
  const runner::Communicator world = runner::Communicator::world();
  if (world.size() != 1 && world.size() != 3) GTEST_SKIP() << "one cut is enough";
  const runner::SharedDirectory folder(world);
  HybridCase one{"long", tables_of({1'100'000, 2}, 32)};
  one.learning_rate = 0.01;
  HybridTrial trial(world, one), resumed(world, one, 6);
  trial.step();
  staging::write_checkpoint(world, folder.path() + "/long.h5", "", trial.state());
  const Arrays expected = trial.weights();
  const runner::Communicator alone = world.split(-1, 0);
  {
    const staging::CheckpointReader reader(world, folder.path() + "/long.h5");
    resumed.restore(reader, 1);
  }
  EXPECT_TRUE(resumed.weights() == expected);
  if (world.rank() == 0) {
    HybridTrial lone(alone, one, 6);
    const staging::CheckpointReader reader(alone, folder.path() + "/long.h5");
    lone.restore(reader, 1);
    EXPECT_TRUE(lone.weights() == expected);
  }
}

}  // namespace
}  // namespace parallel
