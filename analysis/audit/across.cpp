// Audit of several sets of runs together.
#include "analysis/audit/across.h"

#include "analysis/find_logs.h"
#include "runner/mllog/benchmarks.h"

namespace analysis {

std::string RunSet::round() const { return members.empty() ? "" : members.front().facts->round; }

std::string RunSet::usage() const {
  const mllog::Benchmark* const row = mllog::find_benchmark(facts->benchmark);
  return row == nullptr ? "" : row->usage;
}

std::string RunSet::submission() const { return submission_around(folder).generic_string(); }

std::vector<std::vector<Finding>> audit_across(std::span<const RunSet> sets) {
  SetFindings findings(sets.size());
  if (sets.empty()) return {};
  const std::vector<bool> is_copy = audit_copies(sets, findings);
  audit_results(sets, is_copy, findings);
  return std::move(findings).take();
}

}  // namespace analysis
