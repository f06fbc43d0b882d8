// What a system is called where its benchmark is known.
// Hides the parts of a submission's layout.
#include "analysis/report/system_label.h"

#include <filesystem>

namespace analysis::report {

std::string label_of(const SystemReport& system) {
  std::filesystem::path label;
  for (const auto& part : std::filesystem::path(system.name)) {
    if (part != "results" && part != system.facts.benchmark) label /= part;
  }
  return label.empty() ? system.name : label.string();
}

}  // namespace analysis::report
