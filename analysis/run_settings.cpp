// Reads the resolved configuration that this program writes next to a log.
#include "analysis/run_settings.h"

#include <nlohmann/json.hpp>

#include "analysis/side_files.h"
#include "analysis/value.h"
#include "runner/base/error.h"

namespace analysis {

std::map<std::string, std::string> read_settings_of(const std::filesystem::path& log) {
  const auto path = std::filesystem::path(log).replace_extension(".config.json");
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return {};
  std::string problem;
  const auto text = read_side_text(path, problem);
  const nlohmann::json config = text ? side_object(*text, problem) : nlohmann::json();
  if (!problem.empty()) throw base::DataError(path.string() + ": " + problem);
  const auto members = flat_members(config);
  return {members.begin(), members.end()};
}

}  // namespace analysis
