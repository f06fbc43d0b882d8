// Volumes: convolution, maximum and LeakyReLU in one layer, and the activations after them, against
// their plain twin, in every shape that the kernels distinguish.
#include <gtest/gtest.h>
#include <omp.h>

#include <string>

#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"

namespace {

using nn::Network;
using nn::ValueId;
using plain::Array;
using plain::to_bf16;
using residual::noise;

struct VolumeShape {
  const char* name;
  std::vector<std::int64_t> extents;
  std::int64_t channels = 4;
  std::vector<std::int64_t> blocks;  ///< channels of each convolution
  std::int64_t batch = 2;
  friend void PrintTo(const VolumeShape& shape, std::ostream* out) { *out << shape.name; }
};

Network network_of(const VolumeShape& shape, double dropout = 0.0) {
  const nn::Initializer drawn = {nn::Distribution::kUniform, 0.2, 0.0};
  Network net;
  ValueId value = net.input({shape.channels, shape.extents, 1});
  for (std::size_t i = 0; i < shape.blocks.size(); ++i) {
    value = net.convolution_pool(
        value, {"conv" + std::to_string(i), shape.blocks[i], drawn, drawn, 0.3,
                i + 1 == shape.blocks.size() ? nn::ConvolutionPoolSpec::Gives::kVector
                                             : nn::ConvolutionPoolSpec::Gives::kVolume});
  }
  const auto dense = [&](const std::string& name, std::int64_t outputs) {
    value = net.fully_connected(
        value, {name, outputs, drawn, drawn, false, nn::ParameterStyle::kKeras, true});
  };
  dense("dense", 6);
  value = net.activation(value, {"leaky", nn::ActivationFunction::kLeakyRelu, 0.3, 1.0, dropout});
  dense("dense_1", 3);
  net.activation(value, {"tanh", nn::ActivationFunction::kTanh, 0.0, 1.2, 0.0});
  return net;
}

std::vector<Array> volume_parameters(const Network& net) {
  std::vector<Array> parameters;
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    parameters.push_back(noise(net.parameters()[i].count(), 0.1, 100 + i));
    for (double& value : parameters.back()) value = to_bf16(value);
  }
  return parameters;
}

void load(nn::Executor& executor, const std::vector<Array>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    executor.parameters().write_weights(
        static_cast<int>(i), std::vector<float>(parameters[i].begin(), parameters[i].end()));
  }
}

template <class T>
void set(T& to, double value) {
  if constexpr (std::is_same_v<T, float>) {
    to = static_cast<float>(value);
  } else {
    to.bits = plain::bf16_bits(static_cast<float>(value));
  }
}

/// Converts plain [N, C, D, H, W] to channels last with a margin of zeros.
template <class T>
void set_input(const nn::Executor& executor, const VolumeShape& shape, const Array& plain) {
  const std::span<T> to = executor.input<T>(0);
  std::fill(to.begin(), to.end(), T{});
  const std::int64_t d = shape.extents[0], h = shape.extents[1], w = shape.extents[2];
  std::size_t from = 0;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      for (std::int64_t p = 0; p < d * h * w; ++p) {
        const std::int64_t z = p / (h * w) + 1, y = p / w % h + 1, x = p % w + 1;
        const std::int64_t at = ((n * (d + 2) + z) * (h + 2) + y) * (w + 2) + x;
        set(to[static_cast<std::size_t>(at * shape.channels + c)], plain[from++]);
      }
    }
  }
}

nn::ExecutorOptions options_for(const VolumeShape& shape, nn::Precision precision,
                                base::InstructionSet set) {
  nn::ExecutorOptions options;
  options.batch = shape.batch;
  options.kernels = nn::kernels(set);
  options.arithmetic.precision = precision;
  return options;
}

class Volumes : public testing::TestWithParam<VolumeShape> {
 protected:
  Volumes()
      : net_(network_of(GetParam())),
        parameters_(volume_parameters(net_)),
        input_(noise(GetParam().batch * net_.shape(0).channels * net_.shape(0).spatial_size(), 1.0,
                     3)),
        upstream_(noise(GetParam().batch * 3, 1.0, 5)) {
    for (double& value : input_) value = to_bf16(value);
  }
  plain::Pass twin(nn::Precision precision) const {
    const plain::Options options = {GetParam().batch,
                                    1,
                                    true,
                                    {},
                                    {},
                                    precision == nn::Precision::kBf16 ? to_bf16<double> : nullptr,
                                    {}};
    plain::Pass pass = plain::forward(net_, parameters_, input_, options);
    plain::backward(net_, parameters_, options, upstream_, pass);
    return pass;
  }
  template <class T>
  std::vector<float> run(nn::Executor& executor, bool accumulate = false) const {
    set_input<T>(executor, GetParam(), input_);
    executor.forward(nn::Mode::kTraining);
    std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(accumulate, nullptr);
    return outputs;
  }
  template <class T>
  void expect_agreement(nn::Precision precision, base::InstructionSet set, double tolerance,
                        nn::Products products = nn::Products::kPairs) const {
    nn::Device device;
    nn::ExecutorOptions options = options_for(GetParam(), precision, set);
    options.arithmetic.products = products;
    nn::Executor executor(net_, options, device, nullptr);
    load(executor, parameters_);
    const plain::Pass pass = twin(precision);
    EXPECT_LT(plain::relative_l2(run<T>(executor), pass.values.back()), tolerance);
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      EXPECT_LT(plain::relative_l2(executor.parameters().read_gradient(static_cast<int>(i)),
                                   pass.parameter_gradients[i]),
                tolerance)
          << net_.parameters()[i].name;
    }
  }

  const Network net_;
  const std::vector<Array> parameters_;
  Array input_;
  const Array upstream_;
};

constexpr base::InstructionSet kSets[] = {
    base::InstructionSet::kBaseline, base::InstructionSet::kAvx2, base::InstructionSet::kAvx512};

TEST_P(Volumes, AgreeWithTheTwinOnEveryInstructionSet) {
  for (const base::InstructionSet set : kSets) {
    if (set > base::usable_instruction_set()) continue;
    SCOPED_TRACE(base::to_string(set));
    // For sums of some thousand products in floats.
    expect_agreement<float>(nn::Precision::kF32, set, 3e-6);
  }
}

TEST_P(Volumes, AgreeInBfloat16WithinItsRounding) {
  if (base::usable_instruction_set() < base::InstructionSet::kAvx512Bf16) {
    GTEST_SKIP() << "needs avx512_bf16";
  }
  if (GetParam().channels % 2 != 0) {
    nn::Device device;
    EXPECT_THROW(
        nn::Executor(net_,
                     options_for(GetParam(), nn::Precision::kBf16, base::usable_instruction_set()),
                     device, nullptr),
        base::ShapeError);
    return;
  }
  // Sums that differ in their last bit may round to neighbours, after which another voxel may be
  // the maximum; this is rare.
  for (const nn::Products products : {nn::Products::kPairs, nn::Products::kFloats}) {
    SCOPED_TRACE(nn::to_string(products));
    expect_agreement<nn::Bf16>(nn::Precision::kBf16, base::usable_instruction_set(), 5e-3,
                               products);
  }
}

TEST_P(Volumes, AddGradientsOfSeveralPasses) {
  nn::Device device;
  nn::ExecutorOptions options =
      options_for(GetParam(), nn::Precision::kF32, base::usable_instruction_set());
  options.accumulates = true;
  nn::Executor executor(net_, options, device, nullptr);
  load(executor, parameters_);
  run<float>(executor);
  const auto once = executor.parameters().all_gradients();
  const std::vector<float> first(once.begin(), once.end());
  run<float>(executor, true);
  for (std::size_t i = 0; i < first.size(); ++i) ASSERT_EQ(once[i], first[i] + first[i]) << i;
}

TEST_P(Volumes, GiveASampleTheSameBitsInAnyBatchOnAnyThreads) {
  const auto outputs = [&](std::int64_t batch, int threads) {
    omp_set_num_threads(threads);
    VolumeShape shape = GetParam();
    shape.batch = batch;
    nn::Device device;
    nn::Executor executor(net_,
                          options_for(shape, nn::Precision::kF32, base::usable_instruction_set()),
                          device, nullptr);
    load(executor, parameters_);
    set_input<float>(executor, shape, input_);
    executor.forward(nn::Mode::kInference);
    const std::span<const float> all = executor.outputs();
    return std::vector<float>(all.begin(), all.begin() + 3);
  };
  const std::vector<float> alone = outputs(1, 1);
  EXPECT_EQ(outputs(GetParam().batch, 2), alone);
  EXPECT_EQ(outputs(GetParam().batch, 3), alone);
  omp_set_num_threads(2);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Volumes,
                         testing::Values(VolumeShape{"Small", {4, 4, 4}, 4, {16, 16}, 3},
                                         VolumeShape{"Uneven", {4, 6, 8}, 4, {16}, 2},
                                         VolumeShape{"OneChannel", {4, 4, 4}, 1, {32}, 2},
                                         VolumeShape{"FiveChannels", {2, 2, 2}, 5, {16}, 1},
                                         VolumeShape{"WideRows", {2, 4, 40}, 3, {48}, 2},
                                         VolumeShape{"Deep", {8, 8, 8}, 4, {16, 32, 48}, 2},
                                         VolumeShape{"ManyPoints", {32, 16, 32}, 2, {16, 16}, 1},
                                         VolumeShape{"FromBlocks", {4, 4, 2}, 16, {32}, 2}),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST(VolumeShapes, AreRefusedWhereTheyDoNotFit) {
  Network net;
  const ValueId odd = net.input({4, {4, 3, 4}, 1});
  const ValueId bare = net.input({4, {4, 4, 4}});
  const ValueId six = net.input({6, {4, 4, 4}, 1});
  const ValueId fine = net.input({4, {4, 4, 4}, 1});
  const nn::ConvolutionPoolSpec spec = {"conv", 16, {}, {}, 0.3};
  EXPECT_THROW(net.convolution_pool(odd, spec), base::ShapeError);
  EXPECT_THROW(net.convolution_pool(bare, spec), base::ShapeError);
  EXPECT_THROW(net.convolution_pool(six, spec), base::ShapeError);
  EXPECT_THROW(net.convolution_pool(fine, {"conv", 8, {}, {}, 0.3}), base::ShapeError);
  EXPECT_THROW(net.convolution_pool(fine, {"conv", 16, {}, {}, 0.0}), base::ShapeError);
}

TEST(Dropout, DependsOnTheSampleAloneAndKeepsTheMean) {
  const auto outputs_of = [&](std::vector<std::uint64_t> samples, std::uint64_t epoch) {
    Network net;
    const ValueId input = net.input({400, {}});
    const ValueId dropped =
        net.activation(input, {"leaky", nn::ActivationFunction::kLeakyRelu, 0.3, 1.0, 0.25});
    net.activation(dropped, {"same", nn::ActivationFunction::kLeakyRelu, 1.0, 1.0, 0.0});
    nn::Device device;
    nn::ExecutorOptions options;
    options.batch = static_cast<std::int64_t>(samples.size());
    nn::Executor executor(net, options, device, nullptr);
    std::fill(executor.input().begin(), executor.input().end(), 1.0F);
    executor.name_samples({7, epoch, std::move(samples)});
    executor.forward(nn::Mode::kTraining);
    return std::vector<float>(executor.outputs().begin(), executor.outputs().end());
  };
  const std::vector<float> both = outputs_of({5, 9}, 1);
  const std::vector<float> second = outputs_of({9}, 1);
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + 400));
  EXPECT_NE(outputs_of({9}, 2), second);
  EXPECT_FALSE(std::equal(second.begin(), second.end(), both.begin()));
  std::int64_t dropped = 0;
  for (const float value : both) {
    EXPECT_TRUE(value == 0.0F || value == 1.0F / 0.75F) << value;
    dropped += value == 0.0F ? 1 : 0;
  }
  // 800 draws of 0.25: four standard deviations are 49.
  EXPECT_NEAR(static_cast<double>(dropped), 200.0, 49.0);
}

TEST(Dropout, StopsGradientsWhereItStoppedValues) {
  constexpr double kSlope = 0.3;
  Network net;
  const ValueId input = net.input({400, {}}, nn::InputGradient::kWanted);
  net.activation(input, {"leaky", nn::ActivationFunction::kLeakyRelu, kSlope, 1.0, 0.25});
  nn::Device device;
  nn::Executor executor(net, {}, device, nullptr);
  const std::span<float> given = executor.input();
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = i % 2 == 0 ? 1.0F : -1.0F;
  executor.name_samples({7, 1, {5}});
  executor.forward(nn::Mode::kTraining);
  // The function is linear on either side of 0: output over input is its slope.
  std::vector<float> slopes(executor.outputs().begin(), executor.outputs().end());
  for (std::size_t i = 1; i < slopes.size(); i += 2) slopes[i] = -slopes[i];
  std::fill(executor.output_gradient().begin(), executor.output_gradient().end(), 1.0F);
  executor.backward(false, nullptr);
  const std::span<const float> gradient = executor.input_gradient<float>(0);
  EXPECT_EQ(std::vector<float>(gradient.begin(), gradient.end()), slopes);
  EXPECT_GT(std::count(slopes.begin(), slopes.end(), 0.0F), 50);
  EXPECT_LT(std::count(slopes.begin(), slopes.end(), 0.0F), 150);
}

}  // namespace
