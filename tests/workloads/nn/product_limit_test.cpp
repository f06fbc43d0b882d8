// The library's convolutions alone: which are run, and what they add up to.
// Hides nothing.
#include "workloads/nn/product_limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workloads/nn/executor.h"

namespace {

using nn::ProductLimit;
using nn::ProductTime;
using Direction = ProductTime::Direction;

/// Three convolutions: the first reads the input, the other two have one shape.
nn::Network three_convolutions() {
  nn::Network network;
  nn::ValueId at = network.input({3, {16, 16}});
  const nn::Padding padding = nn::uniform_padding(2, 1, 1);
  at = network.convolution(at, {"first", 32, 3, 1, padding, {}});
  at = network.convolution(at, {"second", 32, 3, 1, padding, {}});
  network.convolution(at, {"third", 32, 3, 1, padding, {}});
  return network;
}

class Limit : public testing::Test {
 protected:
  nn::Network network_ = three_convolutions();
  nn::Device device_;
  ProductLimit limit_{network_, 4, nn::Precision::kF32, device_};
};

TEST_F(Limit, RunsEachDirectionButTheDataGradientOfTheInput) {
  std::vector<std::string> runs;
  std::int64_t flops = 0;
  for (const ProductTime& time : limit_.times()) {
    runs.push_back(time.layer + " " + to_string(time.direction));
    flops += time.flops;
    EXPECT_FALSE(time.implementation.empty());
  }
  EXPECT_EQ(runs, (std::vector<std::string>{"first forward", "first weights", "second forward",
                                            "second data", "second weights", "third forward",
                                            "third data", "third weights"}));
  nn::ExecutorOptions options;
  options.batch = 4;
  options.training = false;
  EXPECT_EQ(flops, nn::Executor(network_, options, device_, nullptr).training_flops());
}

TEST_F(Limit, AddsUpTheBestTimes) {
  EXPECT_TRUE(std::isinf(limit_.seconds())) << "nothing was measured yet";
  limit_.measure();
  const double first = limit_.seconds();
  EXPECT_GT(first, 0.0);
  double sum = 0.0;
  for (const ProductTime& time : limit_.times()) sum += time.best_s;
  EXPECT_EQ(limit_.seconds(), sum);
  for (int i = 0; i < 3; ++i) limit_.measure();
  EXPECT_EQ(limit_.repetitions(), 4);
  EXPECT_LE(limit_.seconds(), first);
}

TEST_F(Limit, MeasuresEqualShapesOnce) {
  limit_.measure();
  const auto times = limit_.times();
  for (const std::size_t direction : {0u, 1u, 2u}) {
    EXPECT_EQ(times[2 + direction].best_s, times[5 + direction].best_s);
  }
}

TEST(CopyBandwidth, IsPositive) { EXPECT_GT(nn::copy_bandwidth(1), 1e8); }

}  // namespace
