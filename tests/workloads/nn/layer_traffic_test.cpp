// Bytes that layers are said to move, against sums written out by hand.
#include "workloads/nn/layer_traffic.h"

#include <gtest/gtest.h>

#include <string>

#include "workloads/nn/residual_network.h"

namespace {

constexpr std::int64_t kBatch = 2, kChannels = 16, kFloat = 4;
constexpr std::int64_t kNorm = 2 * kChannels * kFloat;     // gamma and beta
constexpr std::int64_t kTaps = 9 * kChannels * kFloat;     // a depthwise convolution's weights
constexpr std::int64_t kFitsCaches = 8, kFitsNone = 4096;  // height and width

constexpr nn::CacheSizes kCaches = {2 << 20, 8 << 20};  // some systems report none

/// depthwise - pointwise - norm - depthwise - norm - pool - dense
nn::Network network(std::int64_t side) {
  nn::Network net;
  auto x = net.input({kChannels, {side, side}});
  x = net.depthwise_convolution(x, {"first", 1, 1, residual::kSmall});
  x = net.convolution(x, {"pointwise", kChannels, 1, 1, {}, residual::kSmall});
  x = net.batch_norm(x, {"norm"});
  x = net.depthwise_convolution(x, {"second", 1, 1, residual::kSmall});
  x = net.batch_norm(x, {"last"});
  x = net.global_average_pool(x);
  net.fully_connected(x, {"dense", 4, residual::kSmall, residual::kSmall});
  return net;
}

/// A norm with `readers` readers: convolutions, and the sum of their results.
nn::Network network_of_readers(std::int64_t side, int readers) {
  nn::Network net;
  auto x = net.input({kChannels, {side, side}});
  x = net.convolution(x, {"first", kChannels, 1, 1, {}, residual::kSmall});
  x = net.convolution(x, {"blocks", kChannels, 1, 1, {}, residual::kSmall});
  x = net.batch_norm(x, {"norm"});
  auto sum = x;
  for (int i = 1; i < readers; ++i) {
    const std::string name = "reader" + std::to_string(i);
    const auto y = net.convolution(x, {name, kChannels, 1, 1, {}, residual::kSmall});
    sum = net.batch_norm(y, {name + ".norm"}, sum);
  }
  sum = net.global_average_pool(sum);
  net.fully_connected(sum, {"dense", 4, residual::kSmall, residual::kSmall});
  return net;
}

nn::LayerFacts facts_of(const nn::Network& network, nn::Recompute recompute,
                        const std::string& layer) {
  nn::Device device;
  nn::ExecutorOptions options = residual::options_for(kBatch, kBatch);
  options.recompute = recompute;
  options.caches = kCaches;
  options.plan_only = true;
  const nn::Executor executor(network, options, device, nullptr);
  for (const nn::LayerFacts& facts : executor.layers()) {
    if (facts.name == layer) return facts;
  }
  ADD_FAILURE() << "no layer " << layer;
  return {};
}

nn::LayerFacts facts_of(std::int64_t side, nn::Recompute recompute, const std::string& layer) {
  return facts_of(network(side), recompute, layer);
}

std::int64_t value_bytes(std::int64_t side) { return kBatch * kChannels * side * side * kFloat; }

TEST(LayerTraffic, OfANormWhoseSumsAreOfWhatTheCachesHold) {
  const std::int64_t value = value_bytes(kFitsCaches);
  const nn::LayerFacts norm = facts_of(kFitsCaches, nn::Recompute::kNone, "norm");
  EXPECT_EQ(norm.operand_bytes, 2 * value + kNorm);
  // Forward: source and result; backward: their gradients and the source.
  EXPECT_EQ(norm.moved_bytes, 5 * value + 2 * kNorm);
}

TEST(LayerTraffic, OfAProductInThreePasses) {
  constexpr std::int64_t kOut = 4;
  const nn::LayerFacts dense = facts_of(kFitsCaches, nn::Recompute::kNone, "dense");
  EXPECT_EQ(dense.operand_bytes,
            kFloat * (kBatch * kChannels + kBatch * kOut + kOut * kChannels + kOut));
  EXPECT_EQ(dense.moved_bytes, 3 * dense.operand_bytes);
}

TEST(LayerTraffic, OfANormThatFitsNoCache) {
  const std::int64_t value = value_bytes(kFitsNone);
  // In addition forward the source, and backward source and gradient.
  EXPECT_EQ(facts_of(kFitsNone, nn::Recompute::kNone, "norm").moved_bytes, 8 * value + 2 * kNorm);
}

TEST(LayerTraffic, OfANormThatIsMadeAgain) {
  const std::int64_t value = value_bytes(kFitsNone);
  EXPECT_EQ(facts_of(kFitsNone, nn::Recompute::kNormalizations, "norm").moved_bytes,
            10 * value + 3 * kNorm);
}

/// Values that a norm moves for a gradient of `readers` contributions, beyond those for one.
std::int64_t values_of_parts(std::int64_t side, int readers) {
  const auto bytes = [&](int count) {
    return facts_of(network_of_readers(side, count), nn::Recompute::kNone, "norm").moved_bytes;
  };
  return (bytes(readers) - bytes(1)) / value_bytes(side);
}

TEST(LayerTraffic, OfAGradientThatComesInParts) {
  EXPECT_EQ(values_of_parts(kFitsNone, 2), 2) << "the second part, and the sum for later";
  EXPECT_EQ(values_of_parts(kFitsNone, 4), 2 + 2 * 3) << "two sums read and written again";
  EXPECT_EQ(values_of_parts(kFitsCaches, 2), 1);
  EXPECT_EQ(values_of_parts(kFitsCaches, 4), 3) << "each part";
}

TEST(LayerTraffic, OfADepthwiseConvolution) {
  const std::int64_t value = value_bytes(kFitsNone);
  const nn::LayerFacts second = facts_of(kFitsNone, nn::Recompute::kNone, "second");
  EXPECT_EQ(second.operand_bytes, 2 * value + kTaps);
  EXPECT_EQ(second.moved_bytes, 5 * value + 2 * kTaps) << "the weights' gradient is of the source";
}

}  // namespace
