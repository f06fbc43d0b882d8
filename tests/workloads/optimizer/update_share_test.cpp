// An update divided among replicas (threads) with shared weights and state, against one by a single
// replica, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <string>
#include <thread>

#include "runner/base/random.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/momentum_optimizers.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/update_blocks.h"

namespace {

constexpr int kReplicas = 3, kSteps = 3;
constexpr double kLearningRate = 0.5;

/// Two tensors in one block of memory, padded as in a network.
class TwoTensors {
 public:
  TwoTensors() : weights_(noise(1, 1.0)), gradient_(noise(2, 0.1)) {}
  std::vector<nn::ParameterView> views() {
    return {{"a", weights_.data(), gradient_.data(), 9000, true, 0},
            {"b", &weights_[kSecond], &gradient_[kSecond], 7000, true, kSecond}};
  }
  const std::vector<float>& weights() const { return weights_; }

 private:
  static constexpr std::int64_t kSecond = nn::aligned_floats(9000);
  static std::vector<float> noise(std::uint64_t index, double spread) {
    base::RandomStream stream(11, base::Purpose::kWeights, 0, index);
    std::vector<float> values(kSecond + 7000);
    for (float& value : values) value = static_cast<float>(spread * stream.normal());
    return values;
  }
  std::vector<float> weights_, gradient_;
};

/// State shared by all replicas: these are prepared one after the other and get the same block.
class CommonMemory final : public nn::ParameterMemory {
 public:
  std::span<float> shared_block(std::int64_t floats) override {
    block_.resize(static_cast<std::size_t>(floats));
    return block_;
  }
  std::span<float> own_block(std::int64_t) override { return {}; }
  std::vector<std::span<float>> blocks_of_all() const override { return {}; }
  bool is_writer() const override { return true; }
  bool agree(std::uint64_t) const override { return true; }
  void publish() override {}
  std::int64_t floats() const { return std::ssize(block_); }

 private:
  std::vector<float> block_;
};

/// Sums over replicas, in their order. Collective.
class Sum {
 public:
  void operator()(int replica, std::span<double> parts) {
    parts_[static_cast<std::size_t>(replica)].assign(parts.begin(), parts.end());
    meeting_.arrive_and_wait();
    std::fill(parts.begin(), parts.end(), 0.0);
    for (const auto& one : parts_) {
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += one[i];
    }
    meeting_.arrive_and_wait();
  }

 private:
  std::barrier<> meeting_{kReplicas};
  std::array<std::vector<double>, kReplicas> parts_;
};

/// One optimizer of each kind, as sums and state differ by kind.
std::unique_ptr<nn::Optimizer> make(const std::string& name) {
  if (name == "lars") return nn::make_lars({.weight_decay = 1e-3});
  if (name == "adagrad") return nn::make_adagrad({});
  if (name == "sgd") return nn::make_sgd({.momentum = 0.9});
  if (name == "adam") return nn::make_adam({});
  return nn::make_lamb({});
}

/// Any ranges of the parameters, in any order.
TEST(Optimizer, UpdatesRangesToTheBitsOfAllAtOnce) {
  for (const char* name : {"sgd", "lars", "adam", "adagrad", "lamb"}) {
    TwoTensors at_once, in_ranges;
    const auto whole = make(name), parts = make(name);
    for (int step = 0; step < kSteps; ++step) {
      whole->step(at_once.views(), kLearningRate);
      parts->begin_update(in_ranges.views(), kLearningRate);
      const nn::ParameterRange first{0, 1}, second{1, 2}, none{1, 1};
      for (const nn::ParameterRange& range :
           step % 2 == 0 ? std::array{first, none, second} : std::array{none, second, first})
        parts->update(in_ranges.views(), range);
    }
    EXPECT_EQ(in_ranges.weights(), at_once.weights()) << name;
  }
}

TEST(Optimizer, NeedsAllGradientsOnlyToLimitTheirNorm) {
  EXPECT_TRUE(nn::make_lamb({.max_gradient_norm = 1.0})->needs_all_gradients());
  EXPECT_FALSE(nn::make_lamb({.max_gradient_norm = 0.0})->needs_all_gradients());
  for (const char* name : {"sgd", "lars", "adam", "adagrad"}) {
    EXPECT_FALSE(make(name)->needs_all_gradients()) << name;
  }
}

/// Replicas on a node each, which keep the state of their own cells.
TEST(Optimizer, KeepsTheStateOfItsNodesCellsAlone) {
  for (const char* name : {"sgd", "lars", "adam", "adagrad", "lamb"}) {
    TwoTensors tensors;
    std::int64_t floats = 0, state = 0;
    const std::vector<nn::ParameterView> views = tensors.views();
    for (const nn::ParameterView& one : views) floats += one.count;
    for (int r = 0; r < kReplicas; ++r) {
      const auto memory = std::make_shared<CommonMemory>();
      const auto mine = [r](std::int64_t at) { return at / nn::kUpdateCell % kReplicas == r; };
      const auto replica = make(name);
      replica->prepare(views, {memory, mine, mine, [](std::span<double>) {}, {}});
      state += memory->floats();
      for (const nn::StateView& view : replica->state()) {
        if (view.parameter_index < 0) continue;
        EXPECT_TRUE(view.values.empty());
        const auto& tensor = views[static_cast<std::size_t>(view.parameter_index)];
        nn::for_each_block(tensor, [&](std::int64_t begin, std::int64_t count) {
          const auto expected = mine(tensor.offset + begin) ? static_cast<std::size_t>(count) : 0U;
          EXPECT_EQ(view.block(begin).size(), expected);
        });
      }
    }
    const auto whole = static_cast<double>(floats * make(name)->buffers());
    EXPECT_GE(static_cast<double>(state), whole) << name;
    EXPECT_LE(static_cast<double>(state), 1.05 * whole) << name;
  }
}

class UpdateShare : public testing::TestWithParam<const char*> {};

TEST_P(UpdateShare, GivesTheBitsOfAnUpdateByOne) {
  TwoTensors whole;
  const auto alone = make(GetParam());
  for (int step = 0; step < kSteps; ++step) alone->step(whole.views(), kLearningRate);

  TwoTensors shared;
  Sum sum;
  const auto memory = std::make_shared<CommonMemory>();
  std::vector<std::unique_ptr<nn::Optimizer>> replicas;
  for (int r = 0; r < kReplicas; ++r) {
    replicas.push_back(make(GetParam()));
    replicas.back()->prepare(
        shared.views(), {memory,
                         [r](std::int64_t at) { return at / nn::kUpdateCell % kReplicas == r; },
                         {},
                         [&sum, r](std::span<double> parts) { sum(r, parts); },
                         {}});
  }
  std::barrier<> updated(kReplicas);
  std::vector<std::jthread> threads;
  for (const auto& replica : replicas) {
    threads.emplace_back([&] {
      for (int step = 0; step < kSteps; ++step) {
        replica->step(shared.views(), kLearningRate);
        updated.arrive_and_wait();
      }
    });
  }
  threads.clear();  // joins the threads

  EXPECT_EQ(shared.weights(), whole.weights());
  const auto expected = alone->state(), found = replicas.front()->state();
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t v = 0; v < expected.size(); ++v) {
    EXPECT_TRUE(
        std::equal(expected[v].values.begin(), expected[v].values.end(), found[v].values.begin()))
        << expected[v].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, UpdateShare, testing::Values("lars", "adagrad", "lamb"),
                         [](const auto& optimizer) { return optimizer.param; });

}  // namespace
