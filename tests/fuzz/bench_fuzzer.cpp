// Arbitrary bytes as results of bench, two of them between an empty line: a DataError, or a
// comparison whose figures are numbers.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "analysis/comparison/bench_result.h"
#include "runner/base/error.h"
#include "tests/fuzz/memory_file.h"

namespace {

namespace comparison = analysis::comparison;

/// Tests of more steps draw many permutations.
constexpr std::size_t kMostSteps = 5;
/// Bootstrap intervals take milliseconds, so only inputs of some lengths get them.
constexpr std::size_t kBootstrapEvery = 32;

void check(const comparison::BenchResult& bench) {
  fuzz::require(bench.step_s.size() >= 3);
  for (const double seconds : bench.step_s) fuzz::require(std::isfinite(seconds) && seconds > 0.0);
  fuzz::require(std::isfinite(bench.samples_per_s()) && bench.samples_per_s() > 0.0);
  for (const auto& [layer, seconds] : bench.layers) fuzz::require(std::isfinite(seconds));
}

void compare(const comparison::BenchResult& first, const comparison::BenchResult& second) {
  const auto compared = comparison::compare_bench(first, second, 1);
  fuzz::require(compared.ratio > 0.0);
  fuzz::require(compared.p_value >= 0.0 && compared.p_value <= 1.0);
  const bool has_no_interval = std::isnan(compared.interval.low);
  fuzz::require(has_no_interval || compared.interval.low <= compared.interval.high);
  for (const auto& layer : compared.layers) fuzz::require(std::isfinite(layer.difference_s()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find("\n\n");
  try {
    const auto first = comparison::parse_bench(text.substr(0, end), "first.json");
    check(first);
    const auto second = end == std::string_view::npos
                            ? first
                            : comparison::parse_bench(text.substr(end + 2), "second.json");
    check(second);
    if (first.step_s.size() > kMostSteps || second.step_s.size() > kMostSteps) return 0;
    const double p_value = comparison::bench_p_value(first, second, 1);
    fuzz::require(p_value >= 0.0 && p_value <= 1.0);
    if (size % kBootstrapEvery == 0) compare(first, second);
  } catch (const base::DataError&) {
  }
  return 0;
}
