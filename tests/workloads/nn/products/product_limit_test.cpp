// ProductLimit: which oneDNN products run, and the sum of their times.
#include "workloads/nn/products/product_limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workloads/nn/executor/executor.h"

namespace {

using nn::ProductLimit;
using nn::ProductTime;
using Product = ProductTime::Product;

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
    runs.push_back(time.layer + " " + to_string(time.product));
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

TEST(LimitOfVolumes, TakesAllPointsOfTheConvolution) {
  nn::Network network;
  const nn::ValueId input = network.input({4, {8, 8, 8}, 1});
  network.convolution_pool(input,
                           {"conv3d", 16, {}, {}, 0.3, nn::ConvolutionPoolSpec::Gives::kVector});
  nn::Device device;
  const ProductLimit limit(network, 2, nn::Precision::kF32, device);
  const std::vector<ProductTime> times = limit.times();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].flops, 2 * 2 * 27 * 4 * 16 * 512);
  EXPECT_EQ(times[0].bytes, 4 * (2 * 4 * 512 + 2 * 16 * 512 + 27 * 4 * 16));
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
  for (const std::size_t product : {0u, 1u, 2u}) {
    EXPECT_EQ(times[2 + product].best_s, times[5 + product].best_s);
  }
}

/// Two inputs with a layer each, the second of which wants its gradient; an interaction joins them.
nn::Network perceptron() {
  nn::Network network;
  const nn::ValueId dense = network.input({24, {}});
  const nn::ValueId features = network.input({48, {}}, nn::InputGradient::kWanted);
  const auto layer = [&](nn::ValueId src, const char* name, std::int64_t outputs) {
    nn::FullyConnectedSpec spec;
    spec.name = name;
    spec.outputs = outputs;
    spec.relu = true;
    return network.fully_connected(src, spec);
  };
  const nn::ValueId bottom = layer(dense, "bottom", 16);
  layer(network.dot_interaction(bottom, layer(features, "beside", 32)), "top", 8);
  return network;
}

TEST(LimitOfPerceptrons, RunsLayersOfBothInputsInBothPrecisions) {
  const nn::Network network = perceptron();
  std::vector<nn::Precision> precisions = {nn::Precision::kF32};
  if (base::usable_instruction_set() >= base::InstructionSet::kAvx512Bf16) {
    precisions.push_back(nn::Precision::kBf16);
  }
  for (const nn::Precision precision : precisions) {
    nn::Device device;
    ProductLimit limit(network, 7, precision, device);
    std::vector<std::string> runs;
    std::int64_t flops = 0;
    for (const ProductTime& time : limit.times()) {
      runs.push_back(time.layer + " " + to_string(time.product));
      flops += time.flops;
    }
    EXPECT_EQ(runs, (std::vector<std::string>{"bottom forward", "bottom weights", "beside forward",
                                              "beside data", "beside weights", "top forward",
                                              "top data", "top weights"}))
        << to_string(precision);
    const std::int64_t macs = 2 * 24 * 16 + 3 * 48 * 32 + 3 * (16 + 3) * 8;
    EXPECT_EQ(flops, 2 * 7 * macs);
    limit.measure();
    EXPECT_GT(limit.seconds(), 0.0);
    EXPECT_TRUE(std::isfinite(limit.seconds()));
  }
}

}  // namespace
