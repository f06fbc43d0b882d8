// Known answers of networks: procedural weights and images, and norms of gradients.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/hash_chain.h"
#include "workloads/nn/executor/executor.h"

namespace images {

/// a (2 u - 1), u uniform by a chain of hashes that begins with `key`.
inline std::vector<float> procedural(std::uint64_t key, std::int64_t count, double a) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(a * (2.0 * base::uniform_of(base::chain({key, i})) - 1.0));
  }
  return values;
}

/// Weights within +-sqrt(6 / fan-in), biases within +-0.1.
inline std::vector<float> procedural_parameter(std::uint64_t key, const nn::ParameterSpec& spec) {
  const bool is_bias = spec.shape.size() == 1;
  const double fan_in = static_cast<double>(spec.count() / spec.shape.front());
  return procedural(key, spec.count(), is_bias ? 0.1 : std::sqrt(6.0 / fan_in));
}

/// The norm of the gradient of the parameter called `name`.
inline double gradient_norm(nn::Executor& executor, const nn::Network& net,
                            const std::string& name) {
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    if (net.parameters()[i].name != name) continue;
    double squares = 0.0;
    for (const float g : executor.parameters().read_gradient(static_cast<int>(i)))
      squares += static_cast<double>(g) * static_cast<double>(g);
    return std::sqrt(squares);
  }
  throw base::DataError(name);
}

}  // namespace images
