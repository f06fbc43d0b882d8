// Files scaling.json: the factors of the RCP test.
#include "analysis/command/scaling_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "runner/base/json_text.h"
#include "runner/base/printable.h"

namespace analysis::command {

std::vector<OutputFile> scaling_files(const CheckedSubmission& checked, std::ostream& messages) {
  std::vector<OutputFile> files;
  for (const submission::PackageSet& set : checked.report.sets) {
    if (!set.missing_factor) continue;
    const std::filesystem::path path = checked.path / set.name / submission::kScalingFile;
    if (set.scaling_factor) {
      messages << base::printable(
                      fmt::format("{}: kept its {:.6f}, though the RCP test gives {:.6f}",
                                  path.string(), *set.scaling_factor, *set.missing_factor))
               << '\n';
      continue;
    }
    const nlohmann::json factor = {{"scaling_factor", *set.missing_factor}};
    files.push_back({path, base::json_text(factor, -1)});
  }
  return files;
}

}  // namespace analysis::command
