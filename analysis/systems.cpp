// Which runs of a set count.
#include "analysis/systems.h"

#include <algorithm>
#include <array>

#include "runner/mllog/benchmarks.h"

namespace analysis {

namespace fs = std::filesystem;

bool is_weak_folder(const fs::path& folder) { return folder.parent_path().filename() == "weak"; }

bool succeeded(const RunFacts& facts) {
  return facts.outcome == Outcome::kSuccess && !facts.resumed && facts.ttt_s.value_or(0.0) > 0.0;
}

OlympicRange olympic_range(std::size_t valid, std::size_t failing, std::size_t dropped) {
  if (failing > dropped) return {};
  const std::size_t slowest = dropped - failing;
  if (valid <= dropped + slowest) return {};
  return {dropped, valid - slowest};
}

std::size_t dropped_each_end(const std::string& benchmark) {
  const mllog::Benchmark* const row = mllog::find_benchmark(benchmark);
  return row == nullptr ? 1 : static_cast<std::size_t>(row->dropped_each_end);
}

bool counts_for_a_set(const fs::path& folder) {
  constexpr std::array kLeftOut = {"pruned_results", "logs", "raw_logs", "power", "cut_off"};
  return std::find(kLeftOut.begin(), kLeftOut.end(), folder.filename()) == kLeftOut.end();
}

}  // namespace analysis
