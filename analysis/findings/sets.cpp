// Sets: the runs of each folder.
#include "analysis/findings/sets.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "analysis/audit/across.h"
#include "analysis/find_logs.h"
#include "analysis/findings/system_facts_of.h"

namespace analysis {
namespace {

using Members = std::map<std::string, std::vector<const PlacedRun*>>;

std::vector<SetMember> logs_of(const std::vector<const PlacedRun*>& runs) {
  std::vector<SetMember> logs;
  for (const PlacedRun* run : runs) {
    logs.push_back({run->path->filename().string(), run->facts, run->breaks_rules});
  }
  return logs;
}

/// Mean over the runs in `facts.olympic_files`; absent if one of them lacks it.
std::optional<double> cached_fraction_of(const SystemFacts& facts,
                                         const std::vector<const PlacedRun*>& runs) {
  double sum = 0.0;
  std::size_t counted = 0;
  for (const PlacedRun* run : runs) {
    if (std::ranges::count(facts.olympic_files, run->path->filename().string()) == 0) continue;
    const auto fraction = run->telemetry ? run->telemetry->cached_fraction() : std::nullopt;
    if (!fraction) return std::nullopt;
    sum += *fraction;
    ++counted;
  }
  return counted > 0 ? std::optional(sum / static_cast<double>(counted)) : std::nullopt;
}

void judge_across(const Members& members, std::vector<SystemReport>& systems) {
  std::vector<RunSet> sets;
  for (const SystemReport& system : systems) {
    sets.push_back(
        {system.name, full_path(system.path), &system.facts, logs_of(members.at(system.name))});
  }
  std::vector<std::vector<Finding>> findings = audit_across(sets);
  for (std::size_t i = 0; i < systems.size(); ++i) {
    std::ranges::move(findings[i], std::back_inserter(systems[i].findings));
  }
}

}  // namespace

std::vector<SystemReport> systems_of(const std::vector<PlacedRun>& runs) {
  Members sets;
  for (const PlacedRun& run : runs) sets[*run.folder].push_back(&run);
  std::vector<SystemReport> systems;
  for (const auto& [name, members] : sets) {
    const std::filesystem::path folder = full_path(*members.front()->path).parent_path();
    if (!counts_for_a_set(folder)) continue;
    const std::vector<SetMember> logs = logs_of(members);
    SystemReport system;
    system.name = name;
    system.path = folder_of(*members.front()->path);
    system.facts = system_facts_of(folder, logs, system.findings);
    system.facts.olympic.cached_fraction = cached_fraction_of(system.facts, members);
    systems.push_back(std::move(system));
  }
  std::vector<NamedSystem> named;
  for (SystemReport& system : systems) named.push_back({system.name, &system.facts});
  relate_scales(named);
  judge_across(sets, systems);
  return systems;
}

}  // namespace analysis
