// Measures the selection of the values of largest magnitude (LargestValues) beside
// std::nth_element and std::sort, on one thread. Fails if less than 0.95 of the exact selection's
// mass is selected.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include "runner/base/clock.h"
#include "workloads/parallel/largest_values.h"

namespace {

using Places = std::vector<std::int32_t>;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// As gradients of layers of several sizes are: normal within each.
std::vector<float> gradients(std::int64_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = normal(random) * std::exp2(-static_cast<float>(8 * i / values.size()));
  }
  return values;
}

/// k places of largest magnitude: those above the k-th magnitude once `order` has put it in its
/// place, and the first ones that are equal to it.
template <class Order>
Places exact(const std::vector<float>& values, std::int64_t k, Order order) {
  std::vector<float> magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](float value) { return std::abs(value); });
  order(magnitudes);
  const float least = magnitudes[static_cast<std::size_t>(k - 1)];
  Places above, equal;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::abs(values[i]) < least) continue;
    (std::abs(values[i]) > least ? above : equal).push_back(static_cast<std::int32_t>(i));
  }
  equal.resize(static_cast<std::size_t>(k) - above.size());
  Places places;
  std::ranges::merge(above, equal, std::back_inserter(places));
  return places;
}

double mass(const std::vector<float>& values, const Places& places) {
  return std::accumulate(places.begin(), places.end(), 0.0, [&](double sum, std::int32_t place) {
    return sum + std::abs(double{values[static_cast<std::size_t>(place)]});
  });
}

/// Milliseconds of one call; keeps what it returns in `places`.
double timed_ms(Places& places, const std::function<Places()>& select) {
  const base::SystemClock clock;
  const std::int64_t begin = clock.steady_ns();
  places = select();
  return static_cast<double>(clock.steady_ns() - begin) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times of selecting k of many values, milliseconds, medians on one thread.");
  std::int64_t count = 1 << 20;
  int repetitions = 15;
  app.add_option("--count", count, "values")
      ->check(CLI::Range(1000, 1 << 28))
      ->capture_default_str();
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 1000))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  omp_set_num_threads(1);
  const std::vector<float> values = gradients(count);
  parallel::LargestValues largest;
  std::cout << fmt::format("{:>8}{:>12}{:>14}{:>10}{:>20}{:>10}\n", "k / n", "select ms",
                           "nth_element", "sort", "nth_element / sel.", "mass");
  for (const double density : {0.001, 0.01, 0.1}) {
    const auto k = static_cast<std::int64_t>(density * static_cast<double>(count));
    std::vector<double> selecting, splitting, sorting;
    Places selected, split, sorted;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      selecting.push_back(timed_ms(selected, [&] {
        const auto places = largest.select(values, k);
        return Places(places.begin(), places.end());
      }));
      splitting.push_back(timed_ms(split, [&] {
        return exact(values, k, [&](std::vector<float>& magnitudes) {
          std::ranges::nth_element(magnitudes, magnitudes.begin() + k - 1, std::greater());
        });
      }));
      sorting.push_back(timed_ms(sorted, [&] {
        return exact(values, k, [](std::vector<float>& magnitudes) {
          std::ranges::sort(magnitudes, std::greater());
        });
      }));
    }
    const double share = mass(values, selected) / mass(values, split);
    std::cout << fmt::format("{:>8}{:>12.2f}{:>14.2f}{:>10.2f}{:>20.2f}{:>10.4f}\n", density,
                             median(selecting), median(splitting), median(sorting),
                             median(splitting) / median(selecting), share);
    if (share < 0.95) {
      std::cerr << "top_k_benchmark: expected 0.95 of the exact selection's mass\n";
      return 1;
    }
  }
  return 0;
}
