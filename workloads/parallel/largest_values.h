// Selection of the values of largest magnitude, by a search for their threshold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace parallel {

/// Selects k of many values, nearly those of largest magnitude: a threshold is sought between the
/// mean magnitude and the largest by bisection, in at most kSearches steps; below the mean in as
/// many more if at most k values reach it. All values that reach the lowest threshold of at most k
/// values are selected, and a run of neighbours among those below it that reach the highest
/// threshold of more than k. Where the run begins depends on the values alone. Infinities and NaN
/// are selected first, the others then in their order.
/// Source: MSTopK, Shi et al., "Towards scalable distributed training of deep learning on public
/// cloud clusters", MLSys 2021.
class LargestValues {
 public:
  static constexpr int kSearches = 30;
  /// The places of k values, ascending. 0 < k <= values.size(), which fits an int. Valid until the
  /// next call. Uses all threads; the result does not depend on their number.
  std::span<const std::int32_t> select(std::span<const float> values, std::int64_t k);

 private:
  struct Thresholds;
  /// Searches between two magnitudes, among `candidates`: all values that reach `low`.
  void search(double low, double high, std::int64_t k, Thresholds& found);
  void keep_reaching(float threshold);
  void select_broken(std::span<const float> values, std::int64_t k);

  std::span<const float> candidates_;  ///< all values, or those in reaching_
  std::vector<float> reaching_;  ///< magnitudes that reach the highest threshold of more than k
  std::vector<std::int32_t> above_, between_, selected_;
};

}  // namespace parallel
