// Convolutions of floats whose products are made in parts, against plain loops.
// Hides the network around a convolution.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <string>
#include <vector>

#include "workloads/nn/executor.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"
#include "workloads/nn/usable_kernels.h"

namespace {

using nn::Network;
using nn::Padding;
using plain::Array;
using residual::kSmall;
using residual::noise;

/// From `in` to `out` channels of an image.
struct Case {
  const char* name;
  std::int64_t in, out, height, width, kernel, stride;
  bool is_transposed = false;
  std::int64_t batch = 2;
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

/// A layer to `in` channels in blocks, the convolution, and one whose outputs are plain rows.
Network network_of(const Case& of) {
  Network net;
  const std::int64_t padding = of.kernel / 2;
  nn::ValueId x = net.input({16, {of.height, of.width}});
  x = net.convolution(x, {"first", 16, 3, 1, nn::uniform_padding(2, 1, 1), kSmall});
  x = net.convolution(x, {"second", of.in, 1, 1, {}, kSmall});
  if (of.is_transposed) {
    const Padding cut = {{padding, padding}, {padding - 1, padding - 1}};
    x = net.deconvolution(x, {"tested", of.out, of.kernel, of.stride, cut, kSmall});
  } else {
    x = net.convolution(x, {"tested", of.out, of.kernel, of.stride,
                            nn::uniform_padding(2, padding, padding), kSmall});
  }
  net.deconvolution(x, {"last", 3, 3, 2, {{1, 1}, {0, 0}}, kSmall});
  return net;
}

struct Made {
  std::vector<float> outputs;
  std::vector<std::vector<float>> gradients;
  std::string implementation;  ///< of the convolution
};

class Parts : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_tiles()) GTEST_SKIP() << "needs matrix tiles";
  }
  Parts()
      : net_(network_of(GetParam())),
        parameters_(residual::test_parameters(net_)),
        input_(noise(GetParam().batch * net_.shape(0).size(), 1.0, 3)),
        upstream_(noise(GetParam().batch * net_.shape(last()).size(), 1.0, 5)) {}
  nn::ValueId last() const { return static_cast<nn::ValueId>(net_.operations().size()) - 1; }

  plain::Pass twin() const {
    plain::Options options;
    options.batch = options.group_size = GetParam().batch;
    plain::Pass pass = plain::forward(net_, parameters_, input_, options);
    plain::backward(net_, parameters_, options, upstream_, pass);
    return pass;
  }
  Made made(nn::Products products, std::int64_t slice_samples = 0) const {
    nn::ExecutorOptions options = residual::options_for(GetParam().batch, GetParam().batch);
    options.instruction_set = base::usable_instruction_set();
    options.arithmetic.products = products;
    options.slice_samples = slice_samples;
    nn::Device device;
    nn::Executor executor(net_, options, device, nullptr);
    residual::load(executor, net_, parameters_);
    std::copy(input_.begin(), input_.end(), executor.input().begin());
    Made made;
    executor.forward(nn::Mode::kTraining);
    made.outputs.assign(executor.outputs().begin(), executor.outputs().end());
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      made.gradients.push_back(executor.parameters().read_gradient(static_cast<int>(i)));
    }
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name == "tested") made.implementation = layer.implementation;
    }
    return made;
  }

  Network net_;
  std::vector<Array> parameters_;
  Array input_, upstream_;
};

/// The second layer's gradient of weights is made of the gradient of the tested one's source.
TEST_P(Parts, AreAsPlainLoopsHaveThem) {
  const plain::Pass expected = twin();
  const Made parts = made(nn::Products::kFaster);
  EXPECT_NE(parts.implementation.find("own"), std::string::npos) << parts.implementation;
  EXPECT_LT(plain::relative_l2(parts.outputs, expected.values.back()), 1e-6);
  for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
    EXPECT_LT(residual::error_of(parts.gradients[i], expected.parameter_gradients[i]), 2e-6)
        << net_.parameters()[i].name;
  }
}

TEST_P(Parts, AreTheSameInSlices) {
  const Made whole = made(nn::Products::kFaster), sliced = made(nn::Products::kFaster, 1);
  EXPECT_EQ(whole.outputs, sliced.outputs);
}

TEST_P(Parts, AreTheSameOnAnyNumberOfThreads) {
  const int threads = omp_get_max_threads();
  const Made all = made(nn::Products::kFaster);
  for (const int some : {1, 3}) {
    omp_set_num_threads(some);
    const Made fewer = made(nn::Products::kFaster);
    omp_set_num_threads(threads);
    EXPECT_EQ(all.outputs, fewer.outputs);
  }
}

TEST_P(Parts, AreNotMadeOfFloatsThatAreWanted) {
  const Made floats = made(nn::Products::kFloats);
  EXPECT_EQ(floats.implementation.find("own"), std::string::npos) << floats.implementation;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Parts,
                         testing::Values(Case{"points", 176, 160, 9, 11, 1, 1},
                                         Case{"odd_channels", 184, 200, 7, 7, 1, 1},
                                         Case{"many_points", 160, 160, 24, 41, 1, 1, false, 3},
                                         Case{"many_channels", 1592, 96, 4, 9, 1, 1},
                                         Case{"points_of_two", 200, 160, 12, 14, 1, 2},
                                         Case{"points_of_two_odd", 64, 48, 13, 15, 1, 2},
                    Case{"few_channels_of_points_of_two", 24, 20, 9, 13, 1, 2},
                                         Case{"windows", 160, 176, 11, 21, 3, 1},
                                         Case{"wide_windows", 168, 160, 5, 131, 3, 1},
                                         Case{"windows_of_two", 160, 168, 13, 22, 3, 2},
                                         Case{"many_channels_of_windows", 808, 96, 6, 7, 3, 1},
                                         Case{"transposed", 168, 160, 9, 13, 3, 2, true},
                                         Case{"wide_transposed", 160, 160, 4, 115, 3, 2, true}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
