// Tensors for tests of optimizers in both precisions, and comparisons of optimizers with their
// twins.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/object_reader.h"
#include "runner/base/random.h"
#include "workloads/optimizer/optimizer.h"
#include "workloads/optimizer/optimizer_config.h"

namespace optimizer_trial {

using Vector = std::vector<double>;

/// A tensor in both precisions, and the twin's state.
struct Pair {
  std::vector<float> weights, gradient;
  Vector w, g, v, squares;
  bool decays;
  Pair(Vector initial, bool decays_)
      : w(std::move(initial)), v(w.size()), squares(w.size()), decays(decays_) {
    weights.assign(w.begin(), w.end());
    gradient.resize(w.size());
  }
  void set_gradient(const Vector& values) {
    gradient.assign(values.begin(), values.end());
    g.assign(gradient.begin(), gradient.end());
  }
  nn::ParameterView view(const std::string& name) {
    return {name, weights.data(), gradient.data(), static_cast<std::int64_t>(weights.size()),
            decays};
  }
};

inline double norm(const Vector& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

inline Vector random_vector(std::size_t count, std::uint64_t index, double scale) {
  base::RandomStream stream(11, base::Purpose::kWeights, 0, index);
  Vector values(count);
  for (double& value : values)
    value = static_cast<double>(static_cast<float>(scale * stream.normal()));
  return values;
}

/// Sizes around one lane, one block and several blocks; every second tensor does not decay.
inline std::vector<Pair> random_tensors() {
  std::vector<Pair> tensors;
  std::uint64_t index = 0;
  for (const std::size_t count : {1U, 7U, 8U, 64U, 4096U, 4097U, 20000U}) {
    tensors.emplace_back(random_vector(count, index, 0.5), index % 2 == 0);
    ++index;
  }
  return tensors;
}

inline std::vector<nn::ParameterView> views_of(std::vector<Pair>& tensors) {
  std::vector<nn::ParameterView> views;
  for (Pair& tensor : tensors) views.push_back(tensor.view("p" + std::to_string(views.size())));
  return views;
}

inline const Vector kRates = {0.0, 0.3, 0.1, 0.1, 0.02};  // starts at 0, as a warm-up does

/// Runs optimizer and twin side by side and compares the movement from the initial weights.
/// Five float32 steps round about ten times at 6e-8 each; 1e-5 leaves a margin of ten.
inline void expect_agreement(
    nn::Optimizer& optimizer,
    const std::function<void(std::vector<Pair>&, double lr, double previous)>& twin) {
  std::vector<Pair> tensors = random_tensors();
  double previous = 0.0;
  for (std::size_t step = 0; step < kRates.size(); ++step) {
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      tensors[t].set_gradient(random_vector(tensors[t].w.size(), 100 * (step + 1) + t, 0.2));
    }
    optimizer.step(views_of(tensors), kRates[step]);
    twin(tensors, kRates[step], previous);
    previous = kRates[step];
  }
  for (const Pair& tensor : tensors) {
    double worst = 0.0;
    for (std::size_t i = 0; i < tensor.w.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(tensor.weights[i]) - tensor.w[i]));
    }
    EXPECT_LT(worst, 1e-5) << "tensor of " << tensor.w.size();
  }
}

/// Weights after steps with the given rates and gradients.
inline std::vector<Vector> trajectory(nn::Optimizer& optimizer, Vector weights, const Vector& rates,
                                      const std::vector<Vector>& gradients) {
  Pair pair(std::move(weights), true);
  std::vector<Vector> path;
  for (std::size_t step = 0; step < rates.size(); ++step) {
    pair.set_gradient(gradients[step]);
    const std::vector<nn::ParameterView> views{pair.view("w")};
    optimizer.step(views, rates[step]);
    path.emplace_back(pair.weights.begin(), pair.weights.end());
  }
  return path;
}

inline void expect_near(const Vector& found, const Vector& expected, double tolerance = 1e-6) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance);
}

/// The optimizer of a section of a configuration.
inline std::unique_ptr<nn::Optimizer> parse_optimizer(const char* text) {
  const base::ObjectReader reader(nlohmann::json::parse(text), "t.json");
  auto optimizer = nn::make_optimizer(reader);
  reader.reject_unknown();
  return optimizer;
}

}  // namespace optimizer_trial
