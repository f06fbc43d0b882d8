// Which of two bench results is faster, by how much, and whether that is more than noise.
// Hides the statistics.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison/layers.h"
#include "analysis/comparison/significance.h"

namespace analysis::comparison {

/// What `trainmark bench --json` wrote, as far as a comparison needs it.
struct BenchResult {
  std::string name;  ///< of the file
  double samples_per_step = 0.0;
  std::vector<double> step_s;  ///< seconds of each step, at least 3
  std::map<std::string, std::string>
      conditions;                ///< batch, ranks, precision ...: what should agree
  LayerTimes layers;             ///< of bench --layers; else none
  double samples_per_s() const;  ///< of the median step
};

/// Throws DataError naming `name` and the member for text that is no such result.
BenchResult parse_bench(std::string_view text, const std::string& name);

struct BenchComparison {
  double ratio = 1.0;                    ///< samples/s of the second over those of the first
  Interval interval;                     ///< of the ratio: bootstrap of the medians
  double p_value = 1.0;                  ///< of exchanged logarithms of seconds per sample
  bool distinguishable = false;          ///< p_value < kLevel
  std::vector<std::string> differences;  ///< conditions that differ, "batch_per_rank: 32 and 64"
  std::vector<LayerDifference> layers;   ///< where both have layers
};

/// BenchComparison::p_value alone.
double bench_p_value(const BenchResult& first, const BenchResult& second, std::uint64_t seed);

/// The same result for the same seed.
BenchComparison compare_bench(const BenchResult& first, const BenchResult& second,
                              std::uint64_t seed);

/// Each of the others against the first of at least two; p-values are adjusted for each other
/// (holm_adjusted).
std::vector<BenchComparison> compare_benches(const std::vector<BenchResult>& results,
                                             std::uint64_t seed);

}  // namespace analysis::comparison
