// A small residual network with parameters, statistics and inputs for tests of the engine.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runner/base/random.h"
#include "runner/base/system_facts.h"
#include "workloads/nn/executor/executor.h"
#include "workloads/nn/plain_network.h"

namespace residual {

using nn::Distribution;
using nn::Network;
using plain::Array;

inline const nn::Initializer kSmall = {Distribution::kNormal, 0.2, 0.0};

/// Random values: smooth ones would make channels alike, and batch norm would magnify rounding.
inline Array noise(std::int64_t count, double amplitude, std::uint64_t seed) {
  base::RandomStream random(seed, base::Purpose::kGenerate, 0, 0);
  Array values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.uniform(-amplitude, amplitude);
  return values;
}

inline std::vector<Array> test_parameters(const Network& net) {
  std::vector<Array> all;
  std::uint64_t seed = 100;
  for (const auto& spec : net.parameters()) {
    Array values = noise(spec.count(), 0.4, seed++);
    if (spec.name.find("bn") != std::string::npos &&
        spec.name.find(".weight") != std::string::npos) {
      for (double& v : values) v += 1.0;
    }
    all.push_back(std::move(values));
  }
  return all;
}

/// conv - bn - pool - [conv - bn, conv - bn - conv - bn + shortcut] - [identity block] - pool - fc,
/// on `spatial`.
inline Network test_network(const std::vector<std::int64_t>& spatial, std::int64_t width,
                            std::int64_t stride) {
  Network net;
  const auto axes = static_cast<std::int64_t>(spatial.size());
  const nn::Padding one = nn::uniform_padding(axes, 1, 1);
  auto x = net.input({3, spatial});
  x = net.convolution(x, {"conv1", width, 3, 1, one, kSmall});
  x = net.batch_norm(x, {"bn1"});
  x = net.max_pool(x, {3, 2, one});
  for (int block = 0; block < 2; ++block) {
    const std::string name = "block" + std::to_string(block);
    const std::int64_t s = block == 0 ? stride : 1;
    auto y = net.convolution(x, {name + ".conv1", width, 1, 1, {}, kSmall});
    y = net.batch_norm(y, {name + ".bn1"});
    y = net.convolution(y, {name + ".conv2", width, 3, s, one, kSmall});
    y = net.batch_norm(y, {name + ".bn2"});
    y = net.convolution(y, {name + ".conv3", 2 * width, 1, 1, {}, kSmall});
    auto shortcut = x;
    if (block == 0) {
      shortcut = net.convolution(x, {name + ".down", 2 * width, 1, s, {}, kSmall});
      shortcut = net.batch_norm(shortcut, {name + ".bnd", false});
    }
    x = net.batch_norm(y, {name + ".bn3"}, shortcut);
  }
  x = net.global_average_pool(x);
  net.fully_connected(x, {"fc", 5, kSmall, kSmall});
  return net;
}

inline nn::ExecutorOptions options_for(std::int64_t batch, std::int64_t group) {
  nn::ExecutorOptions options;
  options.batch = batch;
  options.groups = nn::plan_batch_groups({{batch, 0, batch}}, 0, group);
  options.kernels = nn::kernels(base::usable_instruction_set());
  return options;
}

inline void load(nn::Executor& executor, const Network& net, const std::vector<Array>& parameters) {
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const std::vector<float> plain(parameters[i].begin(), parameters[i].end());
    executor.parameters().write_weights(static_cast<int>(i), plain);
  }
}

/// Running statistics near (0, 1) for every batch norm, which then normalises with them.
inline void draw_statistics(const Network& net, plain::Options& options) {
  options.training = false;
  for (const auto& s : net.statistics()) {
    options.running_mean.push_back(noise(s.channels, 0.2, 7));
    Array variance = noise(s.channels, 0.3, 8);
    for (double& v : variance) v += 1.0;
    options.running_variance.push_back(variance);
  }
}

inline void set_statistics(nn::Executor& executor, const plain::Options& options) {
  for (std::size_t s = 0; s < options.running_mean.size(); ++s) {
    const Array& mean = options.running_mean[s];
    const Array& variance = options.running_variance[s];
    executor.statistics().set(static_cast<int>(s), std::vector<float>(mean.begin(), mean.end()),
                              std::vector<float>(variance.begin(), variance.end()));
  }
}

/// ||a - b|| over ||b||, or over 0.01 where ||b|| is smaller: some gradients vanish by symmetry.
inline double error_of(const std::vector<float>& a, const Array& b) {
  double norm = 0.0;
  for (const double value : b) norm += value * value;
  return plain::relative_l2(a, b) * std::sqrt(norm) / std::max(std::sqrt(norm), 0.01);
}

}  // namespace residual
