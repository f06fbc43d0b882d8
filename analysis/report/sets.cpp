// The runs of each folder together.
// Hides which folders count.
#include "analysis/report/sets.h"

#include <map>
#include <utility>

#include "analysis/find_logs.h"

namespace analysis::report {

std::vector<SystemReport> systems_of(const std::vector<PlacedRun>& runs) {
  std::map<std::string, std::vector<const PlacedRun*>> sets;
  for (const PlacedRun& run : runs) sets[*run.folder].push_back(&run);
  std::vector<SystemReport> systems;
  for (const auto& [name, members] : sets) {
    const std::filesystem::path folder = full_path(*members.front()->path).parent_path();
    if (!counts_for_a_set(folder)) continue;
    std::vector<SetMember> logs;
    for (const PlacedRun* run : members) {
      logs.push_back({run->path->filename().string(), run->facts, run->breaks_rules});
    }
    SystemReport system;
    system.name = name;
    system.path = members.front()->path->parent_path();
    system.facts = system_facts_of(folder, logs, system.findings);
    systems.push_back(std::move(system));
  }
  std::vector<NamedSystem> named;
  for (SystemReport& system : systems) named.push_back({system.name, &system.facts});
  relate_scales(named);
  return systems;
}

}  // namespace analysis::report
