// A network in bf16 on the engine, compared with its plain twin in double precision.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "workloads/kernels/plain_bf16.h"
#include "workloads/nn/residual_network.h"

namespace bf16 {

using nn::Network;
using plain::Array;
using plain::to_bf16;
using residual::error_of;
using residual::load;
using residual::noise;

/// The twin rounds what the engine rounds, so that ReLUs pass the same elements. What remains are
/// sums that now and then round to the other neighbour, 2^-8 of a value away.
inline constexpr double kForwardTolerance = 5e-3;
inline constexpr double kGradientTolerance = 5e-2;
inline constexpr double kFrozenTolerance = 2e-2;
/// Against a twin that does not round.
inline constexpr double kRoundingTolerance = 2e-2;

inline nn::ExecutorOptions options_for(std::int64_t batch, std::int64_t group) {
  nn::ExecutorOptions options = residual::options_for(batch, group);
  options.arithmetic.precision = nn::Precision::kBf16;
  return options;
}

inline bool has_bf16() {
  return base::usable_instruction_set() >= base::InstructionSet::kAvx512Bf16;
}

/// One network in one mode, on the engine and on its twin.
class Comparison {
 public:
  Comparison(Network net, std::int64_t batch, std::int64_t group, nn::Mode mode)
      : net_(std::move(net)),
        parameters_(residual::test_parameters(net_)),
        input_(noise(batch * net_.shape(0).size(), 1.0, 3)),
        upstream_(noise(batch * 5, 1.0, 5)),
        mode_(mode),
        plain_options_{batch, group, mode == nn::Mode::kTraining, {}, {}, to_bf16} {
    // Weights that bf16 represents exactly: both sides use the same.
    for (Array& values : parameters_)
      std::transform(values.begin(), values.end(), values.begin(), to_bf16<double>);
    if (mode != nn::Mode::kTraining) residual::draw_statistics(net_, plain_options_);
    pass_ = plain::forward(net_, parameters_, input_, plain_options_);
    plain::backward(net_, parameters_, plain_options_, upstream_, pass_);
    plain::Options exact = plain_options_;
    exact.rounded = nullptr;
    exact_outputs_ = plain::forward(net_, parameters_, input_, exact).values.back();
  }

  /// Runs a training pass of `executor` on the same parameters and inputs, and stores the errors.
  void run(nn::Executor& executor) {
    run_forward(executor);
    std::copy(upstream_.begin(), upstream_.end(), executor.output_gradient().begin());
    executor.backward(false, nullptr);
    gradient_error = 0.0;
    for (std::size_t i = 0; i < pass_.parameter_gradients.size(); ++i) {
      gradient_error = std::max(gradient_error,
                                error_of(executor.parameters().read_gradient(static_cast<int>(i)),
                                         pass_.parameter_gradients[i]));
    }
  }
  /// The same of the forward pass alone.
  void run_forward(nn::Executor& executor) {
    load(executor, net_, parameters_);
    residual::set_statistics(executor, plain_options_);
    put_input(executor);
    executor.forward(mode_);
    const std::vector<float> outputs(executor.outputs().begin(), executor.outputs().end());
    forward_error = plain::relative_l2(outputs, pass_.values.back());
    rounding_error = plain::relative_l2(outputs, exact_outputs_);
  }
  const Network& net() const { return net_; }

  double forward_error = 0.0;
  double rounding_error = 0.0;  ///< against the twin that does not round
  double gradient_error = 0.0;  ///< of the worst parameter

 private:
  /// Inputs with channels last are stored in bf16.
  void put_input(nn::Executor& executor) const {
    const nn::SampleShape& shape = net_.shape(0);
    if (!shape.channels_last) {
      std::copy(input_.begin(), input_.end(), executor.input().begin());
      return;
    }
    auto* const to = reinterpret_cast<nn::Bf16*>(executor.input().data());
    const std::int64_t points = shape.spatial_size();
    for (std::size_t i = 0; i < input_.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t sample = at / shape.size(), channel = at / points % shape.channels;
      to[(sample * points + at % points) * shape.channels + channel] = {
          plain::bf16_bits(static_cast<float>(input_[i]))};
    }
  }

  Network net_;
  std::vector<Array> parameters_;
  Array input_, upstream_;
  nn::Mode mode_;
  plain::Options plain_options_;
  plain::Pass pass_;
  Array exact_outputs_;
};

}  // namespace bf16
