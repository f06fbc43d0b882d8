// Compares results of bench: which is faster, by how much, and whether that is more than noise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison/layers.h"
#include "analysis/comparison/significance.h"

namespace analysis::comparison {

/// The part of a file of `trainmark bench --json` that a comparison needs.
struct BenchResult {
  std::string name;  ///< of the file
  double samples_per_step = 0.0;
  std::vector<double> step_s;                     ///< seconds of each step, at least 3
  std::map<std::string, std::string> conditions;  ///< batch, ranks, precision ...: should be equal
  LayerTimes layers;                              ///< from bench --layers; else empty
  double samples_per_s() const;                   ///< of the median step
};

/// Throws DataError, naming `name` and the member, if `text` is not such a result.
BenchResult parse_bench(std::string_view text, const std::string& name);

struct BenchComparison {
  double ratio = 1.0;                    ///< samples/s of the second / those of the first
  Interval interval;                     ///< of the ratio: bootstrap of the medians
  double p_value = 1.0;                  ///< permutation test of log(seconds per sample)
  bool distinguishable = false;          ///< p_value < kLevel
  std::vector<std::string> differences;  ///< conditions that differ, "batch_per_rank: 32 and 64"
  std::vector<LayerDifference> layers;   ///< if both have layers
};

/// BenchComparison::p_value alone.
double bench_p_value(const BenchResult& first, const BenchResult& second, std::uint64_t seed);

/// Deterministic for a given seed.
BenchComparison compare_bench(const BenchResult& first, const BenchResult& second,
                              std::uint64_t seed);

/// Compares each other result with the first. p-values are adjusted for the number of comparisons
/// (holm_adjusted). REQUIRES: at least two results.
std::vector<BenchComparison> compare_benches(const std::vector<BenchResult>& results,
                                             std::uint64_t seed);

}  // namespace analysis::comparison
