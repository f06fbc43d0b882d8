// Summaries of run sets, as the runner leaves them beside results (set_summary.json).
// Hides the search, and what of a file is believed.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace analysis {

struct FoundSet {
  std::filesystem::path path;
  std::vector<std::string> lines;  ///< for people
  nlohmann::json document;
};

/// Those in the folders among `paths`, at any depth, by their paths. What cannot be read goes to
/// `problems`.
std::vector<FoundSet> find_sets(const std::vector<std::string>& paths,
                                std::vector<std::string>& problems);

}  // namespace analysis
