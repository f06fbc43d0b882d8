// Checks runs at the same time that are rated together by throughput (weak/).
#include "analysis/submission/throughput_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analysis/find_logs.h"

namespace analysis::submission {
namespace {

std::set<std::string> values_of(const PackageLog& log) {
  std::set<std::string> values;
  for (const SeedRecord& seed : log.seeds) values.insert(seed.seed);
  return values;
}

void check_seeds_differ(const PackageRuns& set, PackageFindings& findings) {
  std::map<std::set<std::string>, std::string> seen;
  for (const PackageRun& run : set.runs) {
    if (run.log.seeds.empty()) continue;
    const auto [place, is_new] = seen.emplace(values_of(run.log), run.file);
    if (is_new) continue;
    findings.add(
        run.name, "seed.identical-instances",
        fmt::format("has the same seeds as {}: of throughput runs with equal seeds only one "
                    "counts, the others belong into pruned_results",
                    place->second),
        run.log.seeds.front().line, run.log.seeds.front().column);
  }
}

/// The number of accelerators, or of nodes if there are none.
std::optional<double> scale_of(const std::optional<double>& nodes,
                               const std::optional<double>& accelerators_per_node) {
  if (!nodes) return std::nullopt;
  return *nodes * std::max(accelerators_per_node.value_or(0.0), 1.0);
}

std::size_t pruned_runs(const BenchmarkFolder& folder) {
  std::string problem;  // the folder may be absent
  const auto entries = entries_of(folder.path / "pruned_results", problem);
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), is_result));
}

void check_scale(const PackageRuns& set, const SystemDescription& description,
                 PackageFindings& findings) {
  const auto whole = scale_of(description.number_of_nodes, description.accelerators_per_node);
  if (!whole || set.runs.empty()) return;
  const PackageLog& first = set.runs.front().log;
  const auto instance = scale_of(first.number_of_nodes, first.accelerators_per_node);
  if (!instance) return;
  const std::size_t instances = set.runs.size() + pruned_runs(*set.folder);
  const double most = *instance * static_cast<double>(instances);
  if (*whole <= most) return;  // compare_with_logs() reports one smaller than an instance
  findings.add(set.folder->name, "throughput.scale",
               fmt::format("the system's scale is {}, expected at most {}, that of {} instances at "
                           "once",
                           *whole, most, instances));
}

}  // namespace

void check_throughput(const PackageRuns& set, const SystemDescription* description,
                      PackageFindings& findings) {
  check_seeds_differ(set, findings);
  if (description) check_scale(set, *description, findings);
}

}  // namespace analysis::submission
