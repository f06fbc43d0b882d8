// Reads summaries of run sets.
#include "analysis/found_sets.h"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "analysis/side_files.h"
#include "runner/base/printable.h"

namespace analysis {
namespace {

namespace fs = std::filesystem;

constexpr char kSummary[] = "set_summary.json";

std::optional<FoundSet> read(const fs::path& path, std::string& problem) {
  const auto text = read_side_text(path, problem);
  if (!text) return std::nullopt;
  FoundSet set{path, {}, side_object(*text, problem)};
  if (!problem.empty()) return std::nullopt;
  const auto lines = set.document.find("text");
  const bool is_list = lines != set.document.end() && lines->is_array() &&
                       std::ranges::all_of(*lines, [](const auto& one) { return one.is_string(); });
  if (!is_list) {
    problem = "/text: expected a list of lines";
    return std::nullopt;
  }
  for (const auto& line : *lines) set.lines.push_back(base::printable(line.get<std::string>()));
  return set;
}

}  // namespace

std::vector<FoundSet> find_sets(const std::vector<std::string>& paths,
                                std::vector<std::string>& problems) {
  std::set<fs::path> found;
  for (const std::string& path : paths) {
    std::error_code failed;
    const auto options = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator it(path, options, failed);
    for (const fs::recursive_directory_iterator end; !failed && it != end; it.increment(failed)) {
      if (it->path().filename() == kSummary) found.insert(it->path());
    }
  }
  std::vector<FoundSet> sets;
  for (const fs::path& path : found) {
    std::string problem;
    if (auto set = read(path, problem)) {
      sets.push_back(std::move(*set));
    } else {
      problems.push_back(problem.starts_with(path.string()) ? problem
                                                            : path.string() + ": " + problem);
    }
  }
  return sets;
}

}  // namespace analysis
