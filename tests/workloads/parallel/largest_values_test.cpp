// Tests of the selection of the values of largest magnitude.
#include "workloads/parallel/largest_values.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace parallel {
namespace {

using Places = std::vector<std::int32_t>;

Places selected(const std::vector<float>& values, std::int64_t k) {
  LargestValues largest;
  const auto places = largest.select(values, k);
  return {places.begin(), places.end()};
}

/// The thresholds of the published algorithm, over all values in every step.
struct Thresholds {
  float above = std::numeric_limits<float>::infinity(), between = 0.0F;
};
Thresholds plain_thresholds(const std::vector<float>& values, std::int64_t k, double mean) {
  Thresholds found;
  double most = 0.0;
  for (const float value : values) most = std::max(most, std::abs(double{value}));
  std::int64_t k1 = 0, k2 = static_cast<std::int64_t>(values.size());
  const auto search = [&](double from, double to) {
    double low = 0.0, high = 1.0;
    for (int step = 0; step < LargestValues::kSearches; ++step) {
      const double ratio = (low + high) / 2.0;
      const auto threshold = static_cast<float>(from + ratio * (to - from));
      const std::int64_t n =
          std::ranges::count_if(values, [&](float value) { return std::abs(value) >= threshold; });
      if (n <= k) {
        high = ratio;
        if (n > k1) {
          k1 = n;
          found.above = threshold;
        }
      } else {
        low = ratio;
        if (n < k2) {
          k2 = n;
          found.between = threshold;
        }
      }
    }
  };
  search(mean, most);
  if (found.between == 0.0F) search(0.0, mean);
  return found;
}

std::vector<float> values_of(const std::string& kind, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(count) + 3U);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = normal(random);
    if (kind == "normal") values[i] = value;
    if (kind == "heavy") values[i] = value * value * value * std::exp(normal(random));
    if (kind == "wild") values[i] = value * std::exp(4.0F * normal(random));
    if (kind == "layers") values[i] = value * std::exp2(-static_cast<float>(i * 20 / count));
    if (kind == "sparse") values[i] = i % 97 == 0 ? value : 0.0F;
    if (kind == "steps") values[i] = std::round(value);
    if (kind == "equal") values[i] = i % 2 == 0 ? 1.5F : -1.5F;
    if (kind == "zeros") values[i] = 0.0F;
  }
  return values;
}

constexpr const char* kKinds[] = {"normal", "heavy", "wild",  "layers",
                                  "sparse", "steps", "equal", "zeros"};

TEST(LargestValues, AreAsManyAsAskedForAndInOrder) {
  for (const char* kind : kKinds) {
    for (const std::size_t count : {1U, 2U, 9U, 1000U, 20'001U}) {
      const std::vector<float> values = values_of(kind, count);
      for (const std::size_t k : {std::size_t{1}, count / 100 + 1, count / 2 + 1, count}) {
        const Places places = selected(values, static_cast<std::int64_t>(k));
        ASSERT_EQ(places.size(), k) << kind << " " << count;
        for (std::size_t i = 1; i < places.size(); ++i) ASSERT_LT(places[i - 1], places[i]);
        ASSERT_GE(places.front(), 0);
        ASSERT_LT(static_cast<std::size_t>(places.back()), count);
      }
    }
  }
}

/// All that reach the upper threshold, none below the lower one, and a run between them.
TEST(LargestValues, AreThoseOfThePublishedSearch) {
  for (const char* kind : kKinds) {
    for (const std::size_t count : {100U, 5000U, 30'000U}) {
      const std::vector<float> values = values_of(kind, count);
      double sum = 0.0;
      for (const float value : values) sum += std::abs(double{value});
      for (const std::int64_t k : {count / 100, count / 10, count / 2}) {
        const Thresholds expected = plain_thresholds(values, k, sum / static_cast<double>(count));
        const Places places = selected(values, k);
        std::vector<bool> is_selected(count);
        for (const std::int32_t place : places) is_selected[static_cast<std::size_t>(place)] = true;
        std::vector<bool> between;
        for (std::size_t i = 0; i < count; ++i) {
          const float magnitude = std::abs(values[i]);
          if (magnitude >= expected.above) {
            ASSERT_TRUE(is_selected[i]) << kind << " " << count << " " << k;
          } else if (magnitude < expected.between) {
            ASSERT_FALSE(is_selected[i]) << kind << " " << count << " " << k;
          } else {
            between.push_back(is_selected[i]);
          }
        }
        const auto first = std::ranges::find(between, true);
        const auto end = std::find(first, between.end(), false);
        EXPECT_EQ(std::find(end, between.end(), true), between.end()) << "more than one run";
      }
    }
  }
}

double mass(const std::vector<float>& values, const Places& places) {
  return std::accumulate(places.begin(), places.end(), 0.0, [&](double sum, std::int32_t place) {
    return sum + std::abs(double{values[static_cast<std::size_t>(place)]});
  });
}

TEST(LargestValues, HaveNearlyTheMassOfTheExactOnes) {
  for (const char* kind : {"normal", "heavy", "layers", "sparse"}) {
    const std::vector<float> values = values_of(kind, 200'000);
    for (const std::int64_t k : {200, 2000, 20'000}) {
      Places exact(values.size());
      std::iota(exact.begin(), exact.end(), 0);
      std::nth_element(exact.begin(), exact.begin() + k, exact.end(), [&](auto a, auto b) {
        return std::abs(values[static_cast<std::size_t>(a)]) >
               std::abs(values[static_cast<std::size_t>(b)]);
      });
      exact.resize(static_cast<std::size_t>(k));
      EXPECT_GE(mass(values, selected(values, k)), 0.95 * mass(values, exact)) << kind << " " << k;
    }
  }
}

/// Also where more are asked for than are above the mean.
TEST(LargestValues, AreNearlyAllAmongTheExactOnes) {
  for (const char* kind : {"normal", "heavy", "wild", "layers"}) {
    std::vector<float> values = values_of(kind, 200'000);
    for (const std::int64_t k : {200, 2000, 20'000, 100'000, 199'000}) {
      std::vector<float> magnitudes(values.size());
      std::ranges::transform(values, magnitudes.begin(), [](float v) { return std::abs(v); });
      std::ranges::nth_element(magnitudes, magnitudes.begin() + k - 1, std::greater());
      const float least = magnitudes[static_cast<std::size_t>(k - 1)];
      const auto exact = std::ranges::count_if(selected(values, k), [&](std::int32_t place) {
        return std::abs(values[static_cast<std::size_t>(place)]) >= least;
      });
      EXPECT_GE(exact, k - k / 50) << kind << " " << k;
    }
  }
}

TEST(LargestValues, DoNotDependOnThreadsOrEarlierCalls) {
  LargestValues used;
  const int threads = omp_get_max_threads();
  for (const char* kind : kKinds) {
    const std::vector<float> values = values_of(kind, 50'000);
    omp_set_num_threads(1);
    const Places expected = selected(values, 500);
    for (const int some : {2, 3, 8}) {
      omp_set_num_threads(some);
      const auto places = used.select(values, 500);
      EXPECT_EQ(Places(places.begin(), places.end()), expected) << kind;
    }
  }
  omp_set_num_threads(threads);
}

TEST(LargestValues, AreThoseThatAreNoNumbersFirst) {
  for (const float broken : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> values = values_of("normal", 1000);
    values[700] = values[20] = broken;
    EXPECT_EQ(selected(values, 2), (Places{20, 700}));
    EXPECT_EQ(selected(values, 4), (Places{0, 1, 20, 700}));
  }
}

}  // namespace
}  // namespace parallel
