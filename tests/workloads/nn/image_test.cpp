// Layers of images, with depthwise, atrous and transposed convolutions, against plain loops.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/products/product_limit.h"
#include "workloads/nn/residual_network.h"

namespace {

using nn::Network;
using nn::Padding;
using nn::ValueId;
using plain::Array;
using plain::to_bf16;
using residual::kSmall;
using residual::noise;

/// An encoder that halves an image twice, a pyramid of atrous convolutions with the image's mean,
/// and a decoder with a skip connection. Some numbers of channels are no multiple of a block.
Network segmenting(std::int64_t height, std::int64_t width, std::int64_t channels,
                   bool channels_last = false) {
  Network net;
  const Padding one = nn::uniform_padding(2, 1, 1);
  const Padding twice = {{1, 1}, {0, 0}};
  ValueId x = net.input({16, {height, width}, 0, channels_last});
  x = net.convolution(x, {"first", channels, 3, 2, one, kSmall});
  const ValueId fine = net.batch_norm(x, {"first.bn"});
  x = net.depthwise_convolution(fine, {"narrow", 1, 1, kSmall});
  x = net.convolution(x, {"pointwise", channels + 8, 1, 1, {}, kSmall});
  x = net.batch_norm(x, {"pointwise.bn", false});
  x = net.depthwise_convolution(x, {"strided", 2, 1, kSmall});
  x = net.convolution(x, {"strided.pointwise", channels + 16, 1, 1, {}, kSmall});
  const ValueId skip = net.convolution(fine, {"skip", channels + 16, 1, 2, {}, kSmall});
  x = net.batch_norm(skip, {"skip.bn"}, x);
  x = net.depthwise_convolution(x, {"wide", 1, 2, kSmall});
  x = net.batch_norm(x, {"wide.bn"});
  std::vector<ValueId> pyramid;
  for (const std::int64_t rate : {1, 2, 6}) {
    const std::string name = "atrous" + std::to_string(rate);
    ValueId y =
        net.convolution(x, {name, 16, 3, 1, nn::uniform_padding(2, rate, rate), kSmall, rate});
    pyramid.push_back(net.batch_norm(y, {name + ".bn"}));
  }
  const ValueId mean = net.global_average_pool(x);
  const ValueId product =
      net.fully_connected(mean, {"mean", 32, kSmall, {}, false, nn::ParameterStyle::kPointwise});
  pyramid.push_back(net.spread(product, "spread", net.shape(x).spatial));
  x = net.concatenation(pyramid);
  x = net.convolution(x, {"joined", std::max<std::int64_t>(32, channels), 1, 1, {}, kSmall});
  x = net.batch_norm(x, {"joined.bn"});
  x = net.deconvolution(x, {"up", channels, 3, 2, twice, kSmall});
  x = net.batch_norm(x, {"up.bn"});
  x = net.concatenation({x, fine});
  x = net.convolution(x, {"biased", 16, 1, 1, {}, kSmall, 1, kSmall});
  net.deconvolution(x, {"last", 3, 3, 2, twice, kSmall});
  return net;
}

struct ImageShape {
  const char* name;
  std::int64_t height, width, channels, batch;
  friend void PrintTo(const ImageShape& shape, std::ostream* out) { *out << shape.name; }
};

class Images : public testing::TestWithParam<ImageShape> {
 protected:
  Images()
      : net_(segmenting(GetParam().height, GetParam().width, GetParam().channels)),
        parameters_(residual::test_parameters(net_)),
        input_(noise(GetParam().batch * net_.shape(0).size(), 1.0, 3)),
        upstream_(noise(GetParam().batch * net_.shape(last()).size(), 1.0, 5)) {
    for (Array& values : parameters_) {
      for (double& value : values) value = to_bf16(value);
    }
    for (double& value : input_) value = to_bf16(value);
    for (double& value : upstream_) value = to_bf16(value);
  }
  ValueId last() const { return static_cast<ValueId>(net_.operations().size()) - 1; }
  plain::Pass twin(nn::Precision precision) const {
    plain::Options options;
    options.batch = options.group_size = GetParam().batch;
    if (precision == nn::Precision::kBf16) options.rounded = to_bf16;
    plain::Pass pass = plain::forward(net_, parameters_, input_, options);
    plain::backward(net_, parameters_, options, upstream_, pass);
    return pass;
  }
  /// Expects outputs within `forward` of the twin's, and each parameter's gradient within
  /// `backward`.
  void expect_twin(const plain::Pass& expected, const nn::ExecutorOptions& options, double forward,
                   double backward) const {
    nn::Device device;
    nn::Executor executor(net_, options, device, nullptr);
    residual::load(executor, net_, parameters_);
    std::copy(input_.begin(), input_.end(), executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    EXPECT_LT(plain::relative_l2(outputs, expected.values.back()), forward);
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      EXPECT_LT(residual::error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                                   expected.parameter_gradients[i]),
                backward)
          << net_.parameters()[i].name;
    }
  }
  nn::ExecutorOptions options(nn::Precision precision, base::InstructionSet set) const {
    nn::ExecutorOptions options = residual::options_for(GetParam().batch, GetParam().batch);
    options.kernels = nn::kernels(set);
    options.arithmetic.precision = precision;
    return options;
  }

  Network net_;
  std::vector<Array> parameters_;
  Array input_, upstream_;
};

TEST_P(Images, AreAsPlainLoopsHaveThem) {
  const plain::Pass expected = twin(nn::Precision::kF32);
  for (const base::InstructionSet set :
       {base::InstructionSet::kBaseline, base::InstructionSet::kAvx2,
        base::InstructionSet::kAvx512}) {
    if (set > base::usable_instruction_set()) continue;
    SCOPED_TRACE(base::to_string(set));
    expect_twin(expected, options(nn::Precision::kF32, set), 1e-4, 1e-3);
  }
}

TEST_P(Images, AreTheSameInSlicesAndMadeAgain) {
  const plain::Pass expected = twin(nn::Precision::kF32);
  for (const nn::Recompute recompute : {nn::Recompute::kNone, nn::Recompute::kBlocks}) {
    for (const std::int64_t slice : {1, 2}) {
      nn::ExecutorOptions sliced = options(nn::Precision::kF32, base::usable_instruction_set());
      sliced.recompute = recompute;
      sliced.slice_samples = slice;
      expect_twin(expected, sliced, 1e-4, 1e-3);
    }
  }
}

TEST_P(Images, AreRoundedAsStoredInBf16) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  // Sums that are added in another order may round to the neighbouring bf16 value.
  const plain::Pass expected = twin(nn::Precision::kBf16);
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    SCOPED_TRACE(nn::to_string(products));
    nn::ExecutorOptions rounded = options(nn::Precision::kBf16, base::usable_instruction_set());
    rounded.arithmetic.products = products;
    expect_twin(expected, rounded, 2e-2, 1e-1);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Images,
                         testing::Values(ImageShape{"even", 16, 16, 16, 3},
                                         ImageShape{"uneven", 16, 32, 24, 2},
                                         ImageShape{"wide", 16, 16, 64, 2},
                                         ImageShape{"narrow", 32, 16, 8, 1},
                                         ImageShape{"high", 80, 16, 8, 2},
                                         // Atrous convolutions of four pixels.
                                         ImageShape{"few", 8, 8, 16, 4}),
                         [](const auto& what) { return std::string(what.param.name); });

/// A dilation whose padding oneDNN's direct convolution does not support: in floats against the
/// twin, unsliced, in slices and recomputed.
TEST(Image, PadsRowsOfAtrousConvolutions) {
  constexpr std::int64_t kBatch = 2;
  Network net;
  ValueId x = net.input({16, {14, 27}});
  x = net.convolution(x, {"first", 32, 3, 1, nn::uniform_padding(2, 1, 1), kSmall});
  x = net.batch_norm(x, {"first.bn"});
  x = net.convolution(x, {"atrous", 48, 3, 1, nn::uniform_padding(2, 12, 12), kSmall, 12});
  x = net.batch_norm(x, {"atrous.bn"});
  const ValueId last = net.deconvolution(x, {"last", 3, 3, 2, {{1, 1}, {0, 0}}, kSmall});
  const std::vector<Array> parameters = residual::test_parameters(net);
  const Array input = noise(kBatch * net.shape(0).size(), 1.0, 3);
  const Array upstream = noise(kBatch * net.shape(last).size(), 1.0, 5);
  plain::Options plain_options;
  plain_options.batch = plain_options.group_size = kBatch;
  plain::Pass expected = plain::forward(net, parameters, input, plain_options);
  plain::backward(net, parameters, plain_options, upstream, expected);
  for (const auto& [slice, recompute] :
       {std::pair{0, nn::Recompute::kNone}, std::pair{1, nn::Recompute::kNone},
        std::pair{1, nn::Recompute::kBlocks}}) {
    nn::ExecutorOptions options = residual::options_for(kBatch, kBatch);
    options.slice_samples = slice;
    options.recompute = recompute;
    nn::Device device;
    nn::Executor executor(net, options, device, nullptr);
    residual::load(executor, net, parameters);
    std::copy(input.begin(), input.end(), executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    EXPECT_LT(plain::relative_l2(outputs, expected.values.back()), 1e-4);
    std::copy(upstream.begin(), upstream.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      EXPECT_LT(residual::error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                                   expected.parameter_gradients[i]),
                1e-3)
          << net.parameters()[i].name;
    }
    if (base::usable_instruction_set() < base::InstructionSet::kAvx512) continue;
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name != "atrous") continue;
      EXPECT_EQ(layer.implementation.rfind("jit:", 0), 0U) << layer.implementation;
    }
  }
}

/// Inputs with channels first and with channels last give the same outputs.
TEST(Image, TakesInputsWithChannelsLast) {
  constexpr std::int64_t kHeight = 16, kWidth = 32, kChannels = 16;
  const Array input = noise(kChannels * kHeight * kWidth, 1.0, 3);
  std::vector<std::vector<float>> outputs;
  for (const bool channels_last : {false, true}) {
    const Network net = segmenting(kHeight, kWidth, 16, channels_last);
    nn::Device device;
    nn::Executor executor(net, residual::options_for(1, 1), device, nullptr);
    residual::load(executor, net, residual::test_parameters(net));
    for (std::int64_t i = 0; i < kChannels * kHeight * kWidth; ++i) {
      const std::int64_t channel = i / (kHeight * kWidth), point = i % (kHeight * kWidth);
      const std::int64_t to = channels_last ? point * kChannels + channel : i;
      executor.input()[static_cast<std::size_t>(to)] =
          static_cast<float>(input[static_cast<std::size_t>(i)]);
    }
    executor.forward(nn::Mode::kTraining);
    outputs.emplace_back(executor.outputs().begin(), executor.outputs().end());
  }
  EXPECT_LT(plain::relative_l2(outputs[1], Array(outputs[0].begin(), outputs[0].end())), 1e-5);
}

/// ProductLimit has the products of a step, transposed convolutions included.
TEST(Image, HasALimit) {
  const Network net = segmenting(16, 32, 16);
  nn::Device device;
  nn::ProductLimit limit(net, 2, nn::Precision::kF32, device);
  limit.measure();
  std::int64_t flops = 0, wanted = 0;
  for (const nn::ProductTime& time : limit.times()) flops += time.flops;
  for (const nn::Operation& operation : net.operations()) {
    if (operation.kind == nn::OperationKind::kConvolution ||
        operation.kind == nn::OperationKind::kDeconvolution) {
      wanted += 2 * 2 * net.training_macs(operation);
    }
  }
  EXPECT_EQ(flops, wanted);
  EXPECT_GT(limit.seconds(), 0.0);
}

TEST(Image, CountsMultiplications) {
  const Network net = segmenting(16, 32, 16);
  std::int64_t depthwise = 0, transposed = 0;
  for (const nn::Operation& operation : net.operations()) {
    if (operation.kind == nn::OperationKind::kDepthwise) depthwise += net.forward_macs(operation);
    if (operation.kind == nn::OperationKind::kDeconvolution) {
      transposed += net.forward_macs(operation);
    }
  }
  // 8 x 16 pixels of 16 channels; 4 x 8 of 24, and of 32.
  EXPECT_EQ(depthwise, std::int64_t{9} * (8 * 16 * 16 + 4 * 8 * 24 + 4 * 8 * 32));
  // From 4 x 8 pixels, 32 channels to 16; from 8 x 16, 16 to 3.
  EXPECT_EQ(transposed, std::int64_t{9} * (4 * 8 * 32 * 16 + 8 * 16 * 16 * 3));
}

TEST(Image, HasTheTransposedExample) {
  Network net;
  const ValueId input = net.input({1, {2, 2}});
  net.deconvolution(input, {"up", 1, 3, 2, {{1, 1}, {0, 0}}, kSmall});
  nn::Device device;
  nn::Executor executor(net, residual::options_for(1, 1), device, nullptr);
  executor.parameters().write_weights(0, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::fill(executor.input().begin(), executor.input().end(), 1.0F);
  executor.forward(nn::Mode::kInference);
  EXPECT_EQ(std::vector<float>(executor.outputs().begin(), executor.outputs().end()),
            (std::vector<float>{5, 10, 5, 6, 10, 20, 10, 12, 5, 10, 5, 6, 8, 16, 8, 9}));
}

}  // namespace
