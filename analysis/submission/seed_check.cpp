// Checks that each run logs its seeds, and that no two runs share one.
#include "analysis/submission/seed_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace analysis::submission {
namespace {

/// Triple -> the first log with it.
using Seen = std::map<std::string, std::string>;

std::string triple(const SeedRecord& seed) {
  return fmt::format("{} at {}", seed.seed, seed.place);
}

const SeedRecord* first_problem(const PackageLog& log) {
  const auto found = std::find_if(log.seeds.begin(), log.seeds.end(),
                                  [](const SeedRecord& seed) { return !seed.problem.empty(); });
  return found == log.seeds.end() ? nullptr : &*found;
}

/// Whether the log's seeds can be compared; if not, adds a finding.
bool has_seeds(const PackageRun& run, Severity severity, PackageFindings& findings) {
  const PackageLog& log = run.log;
  if (log.malformed_records > 0) {
    findings.add(severity, run.name, "seed.unreadable",
                 fmt::format("{} malformed records, first here: its seeds cannot be trusted",
                             log.malformed_records),
                 log.malformed_line);
    return false;
  }
  if (log.seeds.empty()) {
    findings.add(severity, run.name, "seed.missing",
                 "expected at least one record seed, found none");
    return false;
  }
  if (const SeedRecord* const broken = first_problem(log)) {
    const char* const rule = broken->seed.empty() ? "seed.no-integer" : "seed.no-place";
    findings.add(severity, run.name, rule, "seed: " + broken->problem, broken->line,
                 broken->column);
    return false;
  }
  if (log.seeds.size() > 1) {
    findings.add(run.name, "seed.several", fmt::format("{} seeds in one log", log.seeds.size()),
                 log.seeds[1].line, log.seeds[1].column);
  }
  return true;
}

/// Adds one finding for all triples of the log that occurred before.
void check_new(const PackageRun& run, Severity severity, Seen& seen, PackageFindings& findings) {
  const SeedRecord* first = nullptr;
  std::string owner;
  std::size_t count = 0;
  for (const SeedRecord& seed : run.log.seeds) {
    const auto [place, is_new] = seen.emplace(triple(seed), run.file);
    if (is_new || ++count > 1) continue;
    first = &seed;
    owner = place->second;
  }
  if (count == 0) return;
  const std::string more = count > 1 ? fmt::format(" ({} more like it)", count - 1) : "";
  findings.add(severity, run.name, "seed.repeated",
               fmt::format("seed {} was already logged by {}{}", triple(*first),
                           owner == run.file ? "this log" : owner, more),
               first->line, first->column);
}

}  // namespace

void check_seeds(const PackageRuns& set, Severity severity, PackageFindings& findings) {
  Seen seen;
  for (const PackageRun& run : set.runs) {
    if (!run.log.unreadable.empty() || !has_seeds(run, severity, findings)) continue;
    check_new(run, severity, seen, findings);
  }
}

void SeedsOfFolders::check(const PackageRuns& set, PackageFindings& findings) {
  const std::string& folder = set.folder->name;
  std::set<std::string> reported;  // other folders that were reported
  for (const PackageRun& run : set.runs) {
    for (const SeedRecord& seed : run.log.seeds) {
      if (!seed.problem.empty()) continue;
      const auto [place, is_new] = seen_.emplace(std::pair(set.folder->benchmark, triple(seed)),
                                                 std::pair(folder, run.name));
      const auto& [other, log] = place->second;
      if (is_new || other == folder || !reported.insert(other).second) continue;
      findings.add(run.name, "seed.same-in-other-folder",
                   fmt::format("seed {} is also in {}", triple(seed), log), seed.line, seed.column);
    }
  }
}

}  // namespace analysis::submission
