// A network in training, saved and resumed: the next steps have the same bits.
#include "workloads/nn/executor/training_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "workloads/nn/residual_network.h"
#include "workloads/optimizer/adaptive_optimizers.h"
#include "workloads/optimizer/momentum_optimizers.h"

namespace {

using namespace residual;

/// A checkpoint in memory: arrays as copies of their bytes.
class MemorySource final : public base::StateSource {
 public:
  explicit MemorySource(const std::vector<base::StateArray>& arrays) {
    for (const base::StateArray& array : arrays) {
      std::vector<std::byte> scratch;
      const auto bytes = array.bytes(scratch);
      arrays_[array.name] = {array, {bytes.begin(), bytes.end()}};
    }
  }
  bool has(const std::string& name) const override { return arrays_.contains(name); }
  std::vector<std::int64_t> shape(const std::string& name) const override {
    return arrays_.at(name).array.shape;
  }
  void read(const std::string& name, base::ElementType element,
            const std::vector<std::int64_t>& shape, std::span<std::byte> out) const override {
    const Kept& kept = arrays_.at(name);
    EXPECT_EQ(kept.array.element, element) << name;
    EXPECT_EQ(kept.array.shape, shape) << name;
    ASSERT_EQ(kept.bytes.size(), out.size()) << name;
    std::copy(kept.bytes.begin(), kept.bytes.end(), out.begin());
  }
  void read_rows(const std::string& name, base::ElementType, std::int64_t first_row,
                 std::span<std::byte> out) const override {
    const Kept& kept = arrays_.at(name);
    const auto from = kept.bytes.begin() + first_row * kept.array.row_bytes();
    std::copy_n(from, out.size(), out.begin());
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [name, kept] : arrays_) sum += static_cast<std::int64_t>(kept.bytes.size());
    return sum;
  }

 private:
  struct Kept {
    base::StateArray array;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Kept> arrays_;
};

using Make = std::function<std::unique_ptr<nn::Optimizer>()>;

/// A network, its optimizer, and steps on inputs that depend on the step's number.
class Training {
 public:
  explicit Training(const Make& make)
      : executor_(net_, options_for(6, 6), device_, nullptr), optimizer_(make()) {
    load(executor_, net_, test_parameters(net_));
    optimizer_->prepare(executor_.parameters().views());
  }
  void step(std::uint64_t number) {
    const Array input = noise(6 * net_.shape(0).size(), 1.0, number);
    std::copy(input.begin(), input.end(), executor_.input().begin());
    executor_.forward(nn::Mode::kTraining);
    const auto outputs = executor_.outputs();
    std::copy(outputs.begin(), outputs.end(), executor_.output_gradient().begin());
    executor_.backward(false, nullptr);
    optimizer_->step(executor_.parameters().views(), 0.01);
  }
  MemorySource save() { return MemorySource(nn::training_state(executor_, *optimizer_, {})); }
  void restore(const MemorySource& source) {
    nn::restore_training_state(source, executor_, *optimizer_, {});
  }
  std::uint64_t hash() const { return executor_.parameters().weights_hash(); }
  std::int64_t planned_bytes() const { return nn::training_state_bytes(net_, *optimizer_, 1); }

 private:
  const Network net_ = test_network({16, 16}, 32, 2);
  nn::Device device_;
  nn::Executor executor_;
  std::unique_ptr<nn::Optimizer> optimizer_;
};

const std::map<std::string, Make> kOptimizers = {
    {"sgd", [] { return nn::make_sgd({}); }},
    {"plain_sgd", [] { return nn::make_sgd({.momentum = 0.0}); }},
    {"lars", [] { return nn::make_lars({.weight_decay = 1e-3}); }},
    {"adagrad", [] { return nn::make_adagrad({}); }},
    {"lamb", [] { return nn::make_lamb({}); }},
    {"adam", [] { return nn::make_adam({}); }}};

class TrainingState : public testing::TestWithParam<const char*> {
 protected:
  const Make make_ = kOptimizers.at(GetParam());
};

TEST_P(TrainingState, GoesOnBitForBit) {
  Training whole(make_), resumed(make_);
  for (std::uint64_t step = 0; step < 3; ++step) whole.step(step);
  const MemorySource saved = whole.save();
  resumed.restore(saved);
  EXPECT_EQ(resumed.hash(), whole.hash());
  for (std::uint64_t step = 3; step < 5; ++step) {
    whole.step(step);
    resumed.step(step);
    EXPECT_EQ(resumed.hash(), whole.hash()) << "after step " << step;
  }
}

TEST_P(TrainingState, HasTheBytesThatWerePlanned) {
  Training training(make_);
  training.step(0);
  const MemorySource saved = training.save();
  EXPECT_EQ(saved.bytes(), training.planned_bytes());
}

INSTANTIATE_TEST_SUITE_P(Optimizers, TrainingState,
                         testing::Values("sgd", "plain_sgd", "lars", "adagrad", "lamb", "adam"),
                         [](const auto& optimizer) { return optimizer.param; });

/// The state includes LAMB's moments: without them the resumed steps would differ.
TEST(TrainingStateOfLamb, IsMoreThanItsWeights) {
  Training whole(kOptimizers.at("lamb"));
  for (std::uint64_t step = 0; step < 3; ++step) whole.step(step);
  const MemorySource saved = whole.save();
  for (const char* name :
       {"resume/first_moment/fc.weight", "resume/second_moment/fc.weight", "resume/updates"}) {
    EXPECT_TRUE(saved.has(name)) << name;
  }
}

}  // namespace
