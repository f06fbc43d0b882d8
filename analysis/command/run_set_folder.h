// A folder of runs that becomes a folder of a package, with what its runner wrote beside the logs.
// Hides the layout of those files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis::command {

struct RunSetFolder {
  std::filesystem::path path;
  std::vector<const CheckedFile*> runs;  ///< in the order of their names
  bool is_together = false;              ///< set.json: they trained at the same time
  std::set<std::string> pruned;          ///< set_summary.json: names of logs that do not count
  std::vector<std::string> problems;

  std::string name() const { return path.generic_string(); }
};

/// "result_1.txt, result_2.txt".
std::string names_of(const std::vector<const CheckedFile*>& runs);

/// The folders in which the logs lie, by name; folders of what was cut off or pruned are left out.
std::vector<RunSetFolder> run_set_folders(const CheckReport& logs);

/// The configuration beside a log, without what may differ between runs of a set: seed, folders and
/// time-outs. Nothing where there is none; then or where it is damaged, `problem` says so.
std::optional<nlohmann::json> config_of(const std::filesystem::path& log, std::string& problem);

/// The name under which a package has that configuration: what the log discloses as
/// config_filename, or config.json where it discloses none that could be a file beside a README.
std::string config_name_of(const CheckedFile& run);

/// The revision of the program that wrote the log; "" where no telemetry tells.
std::string revision_of(const std::filesystem::path& log);

/// Logs of the folder between the first and the last of these that are not among them.
std::vector<std::string> left_out_between(const RunSetFolder& folder);

}  // namespace analysis::command
