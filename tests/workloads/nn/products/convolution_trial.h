// Compares a convolution of floats within a network with plain loops.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "workloads/kernels/usable_kernels.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"

namespace convolution_trial {

using plain::Array;
using residual::kSmall;
using residual::noise;

/// From `in` to `out` channels of an image. `cut`: pixels a side that a transposed convolution's
/// destination lacks at its end.
struct Case {
  const char* name;
  std::int64_t in, out, height, width, kernel, stride;
  bool is_transposed = false;
  std::int64_t batch = 2, cut = 0;
  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

/// Layers to `in` channels in blocks, the tested convolution, and one with plain outputs.
inline nn::Network network_of(const Case& of) {
  nn::Network net;
  const std::int64_t padding = (of.kernel - 1) / 2;
  nn::ValueId x = net.input({16, {of.height, of.width}});
  x = net.convolution(x, {"first", 16, 3, 1, nn::uniform_padding(2, 1, 1), kSmall});
  x = net.convolution(x, {"second", of.in, 1, 1, {}, kSmall});
  if (of.is_transposed) {
    const std::int64_t end = of.kernel - of.stride - padding + of.cut;
    const nn::Padding cut = {{padding, padding}, {end, end}};
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
  std::string implementation;  ///< of the tested convolution
  nn::Products products = nn::Products::kFaster;
};

class Trial : public testing::TestWithParam<Case> {
 protected:
  Trial()
      : net_(network_of(GetParam())),
        parameters_(residual::test_parameters(net_)),
        input_(noise(GetParam().batch * net_.shape(0).size(), 1.0, 3)),
        upstream_(noise(GetParam().batch * net_.shape(last()).size(), 1.0, 5)) {}
  const nn::Operation& tested() const { return net_.operations().end()[-2]; }
  nn::ValueId last() const { return static_cast<nn::ValueId>(net_.operations().size()) - 1; }

  plain::Pass twin() const {
    plain::Options options;
    options.batch = options.group_size = GetParam().batch;
    plain::Pass pass = plain::forward(net_, parameters_, input_, options);
    plain::backward(net_, parameters_, options, upstream_, pass);
    return pass;
  }
  Made made(nn::Products products, std::int64_t slice_samples = 0, int passes = 1,
            nn::Recompute recompute = nn::Recompute::kNone) const {
    nn::ExecutorOptions options = residual::options_for(GetParam().batch, GetParam().batch);
    options.kernels = tile_kernels();
    options.arithmetic.products = products;
    options.slice_samples = slice_samples;
    options.recompute = recompute;
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

  /// Expects the twin's outputs, and `times` times the twin's gradients.
  void expect_twin(const Made& made, const plain::Pass& expected, double times) const {
    EXPECT_LT(plain::relative_l2(made.outputs, expected.values.back()), 1e-6);
    for (std::size_t i = 0; i < net_.parameters().size(); ++i) {
      Array wanted = expected.parameter_gradients[i];
      for (double& value : wanted) value *= times;
      EXPECT_LT(residual::error_of(made.gradients[i], wanted), 2e-6) << net_.parameters()[i].name;
    }
  }

  /// Expects the twin's results for the whole batch, in slices, with recomputation, added up over
  /// two passes, and on several numbers of threads. Returns what the whole batch gave.
  Made expect_twin_however_made(nn::Products products) const {
    const plain::Pass expected = twin();
    Made whole = made(products);
    expect_twin(whole, expected, 1.0);
    {
      SCOPED_TRACE("in slices");
      expect_twin(made(products, 1), expected, 1.0);
    }
    {
      SCOPED_TRACE("made again, in slices");
      expect_twin(made(products, 1, 1, nn::Recompute::kBlocks), expected, 1.0);
    }
    {
      SCOPED_TRACE("added up over two passes");
      expect_twin(made(products, 0, 2), expected, 2.0);
    }
    const int threads = omp_get_max_threads();
    for (const int some : {1, 3, 13}) {
      SCOPED_TRACE(testing::Message() << "on " << some << " threads");
      omp_set_num_threads(some);
      const Made others = made(products);
      omp_set_num_threads(threads);
      expect_twin(others, expected, 1.0);
    }
    return whole;
  }

  nn::Network net_;
  std::vector<Array> parameters_;
  Array input_, upstream_;
};

}  // namespace convolution_trial
