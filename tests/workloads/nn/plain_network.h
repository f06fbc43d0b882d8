// The engine's twin: a network evaluated and differentiated by plain loops in double precision.
// Every formula is written out once, forward and backward.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "workloads/nn/network.h"

namespace plain {

using Array = std::vector<double>;

/// The results of a pass over a batch. Arrays are row-major: values [N, C, spatial...], parameters
/// in their own shape.
struct Pass {
  std::vector<Array> values;               ///< of every operation
  std::vector<Array> parameter_gradients;  ///< by parameter id
  std::vector<Array> value_gradients;      ///< by operation
  std::vector<Array> running_mean,
      running_variance;  ///< by statistics index, after one step from (0, 1)
};

struct Options {
  std::int64_t batch = 1;
  std::int64_t group_size = 1;
  bool training = true;  ///< false: batch norm uses the running statistics given, both ways
  std::vector<Array> running_mean, running_variance;
  /// Rounds activations of layers with pixels, and every contribution to their gradients, as they
  /// are stored; null: no rounding. The caller rounds weights.
  double (*rounded)(double) = nullptr;
  std::vector<Array> later_inputs = {};  ///< the inputs after the first
};

Pass forward(const nn::Network& network, const std::vector<Array>& parameters, const Array& input,
             const Options& options);
/// Computes the gradients of sum(outputs * upstream); `pass` is of forward() with the same
/// arguments.
void backward(const nn::Network& network, const std::vector<Array>& parameters,
              const Options& options, const Array& upstream, Pass& pass);

/// ||a - b|| / ||b||.
double relative_l2(const std::vector<float>& a, const Array& b);
double relative_l2(const Array& a, const Array& b);

}  // namespace plain
