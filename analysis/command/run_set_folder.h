// A folder of runs that becomes a folder of a package, and the files that the runner wrote next to
// the logs.
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
  std::vector<const CheckedFile*> runs;  ///< by name
  bool is_together = false;              ///< set.json: the runs trained at the same time
  std::set<std::string> pruned;          ///< set_summary.json: names of logs that do not count
  std::vector<std::string> problems;

  std::string name() const { return path.generic_string(); }
};

/// "result_1.txt, result_2.txt".
std::string names_of(const std::vector<const CheckedFile*>& runs);

/// The folders of the logs, by name, without folders of cut-off or pruned runs.
std::vector<RunSetFolder> run_set_folders(const CheckReport& logs);

/// The configuration next to a log, without the members that may differ between runs of a set:
/// seed, folders, checkpoints and time-outs. Nothing if it is absent or damaged; `problem` is set
/// only if it is damaged.
std::optional<nlohmann::json> config_of(const std::filesystem::path& log, std::string& problem);

/// The file name of that configuration in a package: the config_filename that the log discloses if
/// that is a plain *.json name, else config.json.
std::string config_name_of(const CheckedFile& run);

/// The revision of the program that wrote the log; "" if no telemetry gives it.
std::string revision_of(const std::filesystem::path& log);

/// The names of logs in the folder that lie between the first and the last of its `runs`, but are
/// not among them.
std::vector<std::string> left_out_between(const RunSetFolder& folder);

}  // namespace analysis::command
