// The runs of each folder together.
// Hides which folders count.
#include "analysis/report/sets.h"

#include <map>
#include <system_error>
#include <utility>

namespace analysis::report {
namespace {

/// The folder a log lies in, from the root on: the submission around it is looked for above.
std::filesystem::path folder_of(const std::filesystem::path& log) {
  std::error_code failed;
  const std::filesystem::path full = std::filesystem::absolute(log, failed);
  return (failed ? log : full.lexically_normal()).parent_path();
}

}  // namespace

std::vector<SystemReport> systems_of(const std::vector<PlacedRun>& runs) {
  std::map<std::string, std::vector<const PlacedRun*>> sets;
  for (const PlacedRun& run : runs) sets[*run.folder].push_back(&run);
  std::vector<SystemReport> systems;
  for (const auto& [name, members] : sets) {
    const std::filesystem::path folder = folder_of(*members.front()->path);
    if (!counts_for_a_set(folder)) continue;
    std::vector<SetMember> logs;
    for (const PlacedRun* run : members) {
      logs.push_back({run->path->filename().string(), run->facts});
    }
    SystemReport system;
    system.name = name;
    system.facts = system_facts_of(folder, logs, system.findings);
    systems.push_back(std::move(system));
  }
  return systems;
}

}  // namespace analysis::report
