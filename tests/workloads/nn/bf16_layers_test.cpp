// Layers in bf16 that few shapes exercise, against their plain twins in double precision.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "workloads/nn/bf16_comparison.h"
#include "workloads/nn/onednn.h"

namespace {

using nn::Network;
using residual::kSmall;

nn::Padding padded(std::int64_t points) { return nn::uniform_padding(2, points, points); }

/// Whether some layer computes its source gradient by the method "gapped": on strided pixels alone.
bool has_gapped_gradients(const Network& net) {
  nn::Device device;
  const nn::ExecutorOptions options = bf16::options_for(3, 3);
  const nn::Executor executor(net, options, device, nullptr);
  for (const nn::LayerFacts& layer : executor.layers()) {
    if (layer.implementation.find("gapped") != std::string::npos) return true;
  }
  return false;
}

/// Appends a classifier, so that gradients reach the layers before it.
void finish(Network& net, nn::ValueId x) {
  net.fully_connected(net.global_average_pool(x), {"fc", 5, kSmall, kSmall});
}

/// How expect_twin() runs the engine.
struct Run {
  std::int64_t slice_samples = 0;
  nn::Recompute recompute = nn::ExecutorOptions{}.recompute;
  bool training = true;
};

/// Compares outputs and, in training, gradients with the twin's. Passes are sliced only as `run`
/// says. Returns the layers as they ran.
std::vector<nn::LayerFacts> expect_twin(const Network& net, nn::Products products,
                                        const Run& run = {}) {
  constexpr std::int64_t kBatch = 3;
  const nn::Mode mode = run.training ? nn::Mode::kTraining : nn::Mode::kInference;
  bf16::Comparison comparison(net, kBatch, kBatch, mode);
  nn::ExecutorOptions options = bf16::options_for(kBatch, kBatch);
  options.arithmetic.products = products;
  options.slice_samples = run.slice_samples;
  options.caches = nn::CacheSizes{};
  options.recompute = run.recompute;
  options.training = run.training;
  nn::Device device;
  nn::Executor executor(net, options, device, nullptr);
  if (run.training) {
    comparison.run(executor);
    EXPECT_LT(comparison.gradient_error, bf16::kGradientTolerance);
  } else {
    comparison.run_forward(executor);
  }
  EXPECT_LT(comparison.forward_error, bf16::kForwardTolerance);
  return executor.layers();
}

class Bf16Layers : public testing::Test {
 protected:
  void SetUp() override {
    if (!bf16::has_bf16()) GTEST_SKIP() << "needs avx512_bf16";
  }
};

Network stem_network(std::int64_t channels, const std::vector<std::int64_t>& spatial,
                     std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  Network net;
  auto x = net.input({channels, spatial});
  x = net.convolution(x, {"conv1", 64, kernel, stride, padded(padding), kSmall});
  finish(net, net.batch_norm(x, {"bn1"}));
  return net;
}

TEST_F(Bf16Layers, AgreeInFirstConvolutions) {
  const Network networks[] = {
      stem_network(3, {75, 90}, 7, 2, 3),  // several strips of rows; partly filled tiles
      stem_network(3, {32, 32}, 3, 1, 1), stem_network(1, {9, 21}, 5, 3, 0),
      stem_network(8, {6, 5}, 4, 1, 2)};
  for (const Network& net : networks) {
    SCOPED_TRACE(net.shape(0).channels);
    for (const nn::LayerFacts& layer : expect_twin(net, nn::Products::kPairs)) {
      if (layer.name != "conv1") continue;
      EXPECT_EQ(layer.implementation == "stem", nn::Device().multiplies_in_tiles)
          << layer.implementation;
    }
  }
}

TEST_F(Bf16Layers, AgreeInFirstConvolutionsOfImagesWhoseChannelsAreLast) {
  // Rows of windows longer and shorter than a tile row; partly filled tiles.
  for (const auto& [channels, width] : {std::pair{16, 70}, std::pair{16, 20}, std::pair{3, 70}}) {
    SCOPED_TRACE(testing::Message() << channels << " channels, " << width << " columns");
    Network net;
    auto x = net.input({channels, {37, width}, 0, true});
    x = net.convolution(x, {"conv1", 48, 3, 2, padded(1), kSmall});
    finish(net, net.batch_norm(x, {"bn1"}));
    for (const nn::LayerFacts& layer : expect_twin(net, nn::Products::kPairs)) {
      if (layer.name != "conv1") continue;
      EXPECT_EQ(layer.implementation == "stem", nn::Device().multiplies_in_tiles)
          << layer.implementation;
    }
  }
}

/// Wide rows; partly filled tiles.
TEST_F(Bf16Layers, AgreeInWindowsOfWideImages) {
  Network net;
  auto x = net.input({16, {70, 541}, 0, true});
  x = net.convolution(x, {"conv1", 32, 3, 2, padded(1), kSmall});
  x = net.batch_norm(x, {"bn1"});
  x = net.convolution(x, {"conv2", 48, 3, 1, padded(1), kSmall});
  finish(net, net.batch_norm(x, {"bn2"}));
  expect_twin(net, nn::Products::kPairs);
  expect_twin(net, nn::Products::kPairs, {.slice_samples = 1});
}

Network points_network(std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t height,
                       std::int64_t width) {
  Network net;
  auto x = net.input({3, {height, width}});
  x = net.convolution(x, {"conv1", in, 3, 1, padded(1), kSmall});
  x = net.batch_norm(x, {"bn1"});
  x = net.convolution(x, {"conv2", out, 1, stride, {}, kSmall});
  finish(net, net.batch_norm(x, {"bn2"}));
  return net;
}

TEST_F(Bf16Layers, AgreeInProductsOfPoints) {
  struct Case {
    std::int64_t in, out, stride, height;
    bool is_own;
  };
  const Case cases[] = {{32, 64, 1, 9, true},  {48, 16, 1, 9, true},   {64, 48, 2, 9, true},
                        {64, 32, 2, 8, true},  {40, 64, 1, 9, false},  {32, 272, 2, 9, false},
                        {40, 72, 2, 8, false}, {48, 272, 3, 11, false}};
  for (const Case& c : cases) {
    for (const std::int64_t width : {37, 40}) {
      SCOPED_TRACE(testing::Message()
                   << c.in << " to " << c.out << " channels, " << width << " columns");
      const Network net = points_network(c.in, c.out, c.stride, c.height, width);
      EXPECT_EQ(has_gapped_gradients(net),
                nn::Device().multiplies_in_tiles && c.stride > 1 && !c.is_own);
      for (const nn::LayerFacts& layer : expect_twin(net, nn::Products::kPairs)) {
        if (layer.name != "conv2" || !nn::Device().multiplies_in_tiles) continue;
        // oneDNN's 1x1 convolution in AMX tiles.
        EXPECT_EQ(layer.implementation.find("brgconv_1x1") == std::string::npos, c.is_own)
            << layer.implementation;
      }
      expect_twin(net, nn::Products::kPairs, {.slice_samples = 1});
      expect_twin(net, nn::Products::kPairs, {.training = false});
      for (const nn::Recompute recompute : nn::kAllRecompute) {
        expect_twin(net, nn::Products::kPairs, {.recompute = recompute});
      }
    }
  }
}

/// A 3x3 convolution after a first convolution to `channels` channels.
Network window_network(const std::vector<std::int64_t>& spatial, std::int64_t channels,
                       std::int64_t outputs, std::int64_t dilation) {
  Network net;
  auto x = net.input({3, spatial});
  x = net.convolution(x, {"conv1", channels, 3, 1, padded(1), kSmall});
  x = net.batch_norm(x, {"bn1"});
  x = net.convolution(x, {"conv2", outputs, 3, 1, padded(dilation), kSmall, dilation});
  finish(net, net.batch_norm(x, {"bn2"}));
  return net;
}

// For these shapes oneDNN's weight gradients in AMX tiles are wrong: the engine computes them
// itself, or has oneDNN compute them without tiles.
TEST_F(Bf16Layers, AgreeOnLongLines) {
  for (const std::int64_t outputs : {48, 64}) {
    SCOPED_TRACE(outputs);
    expect_twin(window_network({5, 600}, 32, outputs, 1), nn::Products::kPairs);
  }
}
TEST_F(Bf16Layers, AgreeInAtrousWindowsOfOddChannels) {
  expect_twin(window_network({20, 9}, 40, 16, 2), nn::Products::kPairs);
}

TEST_F(Bf16Layers, AgreeInPiecesOfAnImage) {
  static const nn::Device device;
  if (!nn::Device().multiplies_in_tiles) GTEST_SKIP() << "needs matrix tiles (AMX)";
  // Rows of windows too long for the stem layer, a value that others are added to, and more
  // channels than a wide column has.
  Network net;
  auto x = net.input({48, {33, 35}});
  x = net.convolution(x, {"conv1", 16, 3, 1, padded(1), kSmall});
  const auto one = net.batch_norm(x, {"bn1"});
  x = net.convolution(one, {"conv2", 16, 1, 1, {}, kSmall});
  x = net.batch_norm(x, {"bn2"}, one);
  x = net.concatenation({one, x});
  x = net.convolution(x, {"conv3", 2064, 1, 1, {}, kSmall});
  finish(net, net.batch_norm(x, {"bn3"}));
  for (const std::int64_t slice_samples : {0, 1}) {
    expect_twin(net, nn::Products::kPairs, {.slice_samples = slice_samples});
  }
}

TEST_F(Bf16Layers, AgreeOnImagesThatPassByTheCaches) {
  static const nn::Device device;
  if (!nn::Device().multiplies_in_tiles) GTEST_SKIP() << "needs matrix tiles (AMX)";
  // The last convolution's forward product is this project's, or oneDNN's; its source gradient is
  // of strided pixels alone, with zeros between them.
  for (const std::int64_t outputs : {32, 272}) {
    SCOPED_TRACE(outputs);
    Network net;
    auto x = net.input({3, {97, 230}});
    x = net.convolution(x, {"conv1", 32, 3, 1, padded(1), kSmall});
    const auto one = net.batch_norm(x, {"bn1"});
    x = net.convolution(one, {"conv2", 64, 1, 1, {}, kSmall});
    x = net.batch_norm(x, {"bn2"});
    x = net.depthwise_convolution(x, {"depthwise", 1, 1, kSmall});
    x = net.batch_norm(x, {"bn3"});
    x = net.concatenation({one, x, one});
    x = net.convolution(x, {"conv3", outputs, 1, 2, {}, kSmall});
    finish(net, net.batch_norm(x, {"bn4"}));
    expect_twin(net, nn::Products::kPairs);
    // Rows that are no multiple of a cache line, slice by slice.
    Network odd;
    x = odd.input({3, {171, 231}});
    x = odd.convolution(x, {"conv1", 40, 3, 1, padded(1), kSmall});
    x = odd.batch_norm(x, {"bn1"});
    x = odd.convolution(x, {"conv2", outputs, 1, 2, {}, kSmall});
    finish(odd, odd.batch_norm(x, {"bn2"}));
    expect_twin(odd, nn::Products::kPairs, {.slice_samples = 1});
  }
}

TEST_F(Bf16Layers, AgreeOnRowsOfManyChannels) {
  // Several pieces of rows, and more channels than kernels process together.
  for (const std::int64_t stride : {1, 2}) {
    SCOPED_TRACE(stride);
    Network net;
    auto x = net.input({3, {40, 7}});
    x = net.convolution(x, {"conv1", 32, 3, 1, padded(1), kSmall});
    x = net.batch_norm(x, {"bn1"});
    x = net.convolution(x, {"conv2", 136, 1, 1, {}, kSmall});
    x = net.batch_norm(x, {"bn2"});
    x = net.depthwise_convolution(x, {"depthwise", stride, 1, kSmall});
    finish(net, net.batch_norm(x, {"bn3"}));
    for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
      expect_twin(net, products);
    }
  }
}

}  // namespace
