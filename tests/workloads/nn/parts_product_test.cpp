// Convolutions of floats whose products are made in parts, against plain loops.
// Hides the network around a convolution.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <ostream>
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

/// From `in` to `out` channels of an image. `cut`: points that a transposed convolution gives less.
struct Case {
  const char* name;
  std::int64_t in, out, height, width, kernel, stride;
  bool is_transposed = false;
  std::int64_t batch = 2, cut = 0;
  /// Whether no product is the library's.
  bool is_all_own() const { return kernel == 1 && stride == 1; }
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

/// A layer to `in` channels in blocks, the convolution, and one whose outputs are plain rows.
Network network_of(const Case& of) {
  Network net;
  const std::int64_t padding = (of.kernel - 1) / 2;
  nn::ValueId x = net.input({16, {of.height, of.width}});
  x = net.convolution(x, {"first", 16, 3, 1, nn::uniform_padding(2, 1, 1), kSmall});
  x = net.convolution(x, {"second", of.in, 1, 1, {}, kSmall});
  if (of.is_transposed) {
    const std::int64_t end = of.kernel - of.stride - padding + of.cut;
    const Padding cut = {{padding, padding}, {end, end}};
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
  nn::Products products = nn::Products::kFaster;
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
  Made made(nn::Products products, std::int64_t slice_samples = 0, int passes = 1) const {
    nn::ExecutorOptions options = residual::options_for(GetParam().batch, GetParam().batch);
    options.instruction_set = base::usable_instruction_set();
    options.arithmetic.products = products;
    options.slice_samples = slice_samples;
    options.accumulates = passes > 1;
    nn::Device device;
    nn::Executor executor(net_, options, device, nullptr);
    residual::load(executor, net_, parameters_);
    std::copy(input_.begin(), input_.end(), executor.input().begin());
    Made made;
    executor.forward(nn::Mode::kTraining);
    made.outputs.assign(executor.outputs().begin(), executor.outputs().end());
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    for (int pass = 1; pass < passes; ++pass) {
      executor.forward(nn::Mode::kTraining);
      std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
      executor.backward(true, nullptr);
    }
    made.products = executor.products();
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      made.gradients.push_back(executor.parameters().read_gradient(static_cast<int>(i)));
    }
    for (const nn::LayerFacts& layer : executor.layers()) {
      if (layer.name == "tested") made.implementation = layer.implementation;
    }
    return made;
  }

  /// Gradients are so many times those of the twin.
  void expect_twin(const Made& made, const plain::Pass& expected, double times) const {
    EXPECT_LT(plain::relative_l2(made.outputs, expected.values.back()), 1e-6);
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      Array wanted = expected.parameter_gradients[i];
      for (double& value : wanted) value *= times;
      EXPECT_LT(residual::error_of(made.gradients[i], wanted), 2e-6) << net_.parameters()[i].name;
    }
  }

  Network net_;
  std::vector<Array> parameters_;
  Array input_, upstream_;
};

/// The second layer's gradient of weights is made of the gradient of the tested one's source.
TEST_P(Parts, AreAsPlainLoopsHaveThem) {
  const plain::Pass expected = twin();
  const Made parts = made(nn::Products::kFaster);
  EXPECT_EQ(parts.products, nn::Products::kPairs);
  EXPECT_NE(parts.implementation.find("own"), std::string::npos) << parts.implementation;
  EXPECT_EQ(parts.implementation == "own", GetParam().is_all_own()) << parts.implementation;
  expect_twin(parts, expected, 1.0);
  {
    SCOPED_TRACE("in slices");
    const Made sliced = made(nn::Products::kFaster, 1);
    EXPECT_EQ(sliced.outputs, parts.outputs);
    expect_twin(sliced, expected, 1.0);
  }
  {
    SCOPED_TRACE("added up over two passes");
    expect_twin(made(nn::Products::kFaster, 0, 2), expected, 2.0);
  }
  const int threads = omp_get_max_threads();
  for (const int some : {1, 3, 13}) {
    SCOPED_TRACE(testing::Message() << "on " << some << " threads");
    omp_set_num_threads(some);
    const Made others = made(nn::Products::kFaster);
    omp_set_num_threads(threads);
    expect_twin(others, expected, 1.0);
  }
}

TEST_P(Parts, AreNotMadeOfFloatsThatAreWanted) {
  const Made floats = made(nn::Products::kFloats);
  EXPECT_EQ(floats.products, nn::Products::kFloats);
  EXPECT_EQ(floats.implementation.find("own"), std::string::npos) << floats.implementation;
}

TEST(PartsOfFew, AreNotMade) {
  nn::Device device;
  // Few channels; and rows that would leave most of their tiles empty.
  for (const Case& of :
       {Case{"channels", 48, 64, 6, 30, 3, 1}, Case{"columns", 160, 160, 7, 7, 3, 1}}) {
    const nn::Executor executor(network_of(of), residual::options_for(of.batch, of.batch), device,
                                nullptr);
    EXPECT_EQ(executor.products(), nn::Products::kFloats) << of.name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Parts,
    testing::Values(
        Case{"points", 176, 160, 9, 11, 1, 1}, Case{"odd_channels", 184, 200, 7, 7, 1, 1},
        Case{"points_past_the_caches", 176, 176, 24, 47, 1, 1, false, 3},
        Case{"many_channels", 1592, 96, 4, 9, 1, 1}, Case{"points_of_two", 200, 160, 6, 60, 1, 2},
        Case{"points_of_two_odd", 64, 48, 7, 59, 1, 2},
        Case{"few_channels_of_points_of_two", 24, 20, 9, 61, 1, 2},
        Case{"wide_points_of_three", 32, 40, 8, 403, 1, 3}, Case{"windows", 160, 176, 7, 30, 3, 1},
        Case{"wide_windows", 168, 160, 5, 131, 3, 1},
        Case{"windows_past_the_caches", 160, 176, 24, 66, 3, 1},
        Case{"large_windows", 160, 160, 9, 13, 5, 1}, Case{"windows_of_two", 160, 168, 9, 28, 3, 2},
        Case{"windows_of_three", 160, 168, 10, 43, 5, 3},
        Case{"many_channels_of_windows", 808, 96, 6, 14, 3, 1},
        Case{"many_channels_of_windows_of_two", 808, 96, 5, 27, 3, 2},
        Case{"transposed", 168, 160, 9, 13, 3, 2, true},
        Case{"odd_transposed", 168, 160, 5, 14, 3, 2, true, 2, 1},
        Case{"single_taps_transposed", 168, 160, 5, 14, 2, 2, true},
        Case{"many_channels_transposed", 808, 96, 4, 15, 3, 2, true},
        Case{"wide_transposed", 160, 160, 4, 115, 3, 2, true}),
    [](const auto& each) { return each.param.name; });

}  // namespace
