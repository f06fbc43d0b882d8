// Which files the paths of a command line mean.
// Hides the walk through folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace analysis {

/// What stands for standard input among the paths.
inline constexpr char kStandardInput[] = "-";

struct FoundLog {
  std::filesystem::path path;
  std::string name;    ///< relative to its path, or to the folder that several have in common
  std::string folder;  ///< name of the folder it lies in, "." for the path itself
};

/// A path that is missing, holds no log, or cannot be walked.
struct UnusablePath {
  std::string path;
  std::string reason;
  bool missing = false;  ///< missing, or without a log
};

struct FoundLogs {
  std::vector<FoundLog> logs;  ///< each file once, in order of names, numbers by value
  std::vector<UnusablePath> problems;
};

/// A file is taken whatever its name; a folder is searched for result_*.txt at any depth, without
/// following links to folders. What is no path is expanded as a shell does: *, ?, [...], {A,B}.
/// Names under rounds/hpc_v0.7 and rounds/hpc_v1.0 begin with hpc_v0.7 and hpc_v1.0, as they do
/// under rounds.
FoundLogs find_logs(const std::vector<std::string>& paths);

/// From the root on, as it is written: links are not followed, as their names may tell a round.
std::filesystem::path full_path(const std::filesystem::path& path);

/// The folder of the submission that `path` is in, which holds results/; empty where none does.
std::filesystem::path submission_around(const std::filesystem::path& path);

/// Whether it is named as a log: result_*.txt.
bool is_result(const std::filesystem::path& path);

/// Order of names in which result_2 stands before result_10.
bool natural_less(const std::string& one, const std::string& other);

}  // namespace analysis
