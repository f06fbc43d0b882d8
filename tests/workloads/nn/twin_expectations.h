// Expects of the engine what the twin of plain loops gives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/plain_network.h"
#include "workloads/nn/residual_network.h"

namespace plain {

inline constexpr std::int64_t kTwinBatch = 5;

template <class T>
std::vector<float> input_gradient(const nn::Executor& executor) {
  std::vector<float> values;
  for (const T value : executor.input_gradient<T>(0)) {
    if constexpr (std::is_same_v<T, float>) {
      values.push_back(value);
    } else {
      values.push_back(as_float(value));
    }
  }
  return values;
}

/// Expects outputs and all gradients within `tolerance` of the twin's, the input's if it is wanted.
inline void expect_twin(const nn::Network& net, nn::Precision precision, std::int64_t slice_samples,
                        double tolerance,
                        nn::Recompute recompute = nn::Recompute::kNormalizations) {
  const auto last = static_cast<nn::ValueId>(net.operations().size()) - 1;
  const auto rounded = [](Array values) {
    for (double& value : values) value = to_bf16(value);
    return values;
  };
  std::vector<Array> parameters = residual::test_parameters(net);
  for (Array& values : parameters) values = rounded(values);
  const Array input = rounded(residual::noise(kTwinBatch * net.shape(0).size(), 1.0, 3));
  const Array upstream = rounded(residual::noise(kTwinBatch * net.shape(last).size(), 1.0, 5));
  plain::Options twin;
  twin.batch = twin.group_size = kTwinBatch;
  if (precision == nn::Precision::kBf16) twin.rounded = to_bf16;
  plain::Pass expected = plain::forward(net, parameters, input, twin);
  plain::backward(net, parameters, twin, upstream, expected);

  nn::ExecutorOptions options = residual::options_for(kTwinBatch, kTwinBatch);
  options.arithmetic.precision = precision;
  options.slice_samples = slice_samples;
  options.recompute = recompute;
  options.accumulates = true;
  nn::Device device;
  nn::Executor executor(net, options, device, nullptr);
  residual::load(executor, net, parameters);
  const std::vector<float> gradient(upstream.begin(), upstream.end());
  for (const bool accumulate : {false, true}) {
    std::ranges::copy(input, executor.input().begin());
    executor.forward(nn::Mode::kTraining);
    EXPECT_LT(plain::relative_l2(executor.read_outputs(), expected.values.back()), tolerance);
    executor.write_output_gradient(gradient);
    executor.backward(accumulate, nullptr);
    const double passes = accumulate ? 2.0 : 1.0;
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      Array sum = expected.parameter_gradients[i];
      for (double& value : sum) value *= passes;
      EXPECT_LT(residual::error_of(executor.parameters().read_gradient(static_cast<int>(i)), sum),
                tolerance)
          << net.parameters()[i].name << " after " << passes << " passes";
    }
    if (!net.has_gradient(0)) continue;
    const std::vector<float> found = precision == nn::Precision::kBf16
                                         ? input_gradient<nn::Bf16>(executor)
                                         : input_gradient<float>(executor);
    EXPECT_LT(plain::relative_l2(found, expected.value_gradients.front()), tolerance);
  }
}

}  // namespace plain
