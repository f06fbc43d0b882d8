// Reads summaries of run sets (set_summary.json), which the runner writes next to the results.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace analysis {

struct FoundSet {
  std::filesystem::path path;
  std::vector<std::string> lines;  ///< the summary as text
  nlohmann::json document;
};

/// The summaries at any depth below the folders among `paths`, ordered by path. Appends a message
/// to `problems` for each that cannot be read.
std::vector<FoundSet> find_sets(const std::vector<std::string>& paths,
                                std::vector<std::string>& problems);

}  // namespace analysis
