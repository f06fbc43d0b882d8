// Finds the log files that the paths of a command line name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace analysis {

/// The path that means standard input.
inline constexpr char kStandardInput[] = "-";

struct FoundLog {
  std::filesystem::path path;
  std::string name;    ///< relative to the given path; of several, to their common parent
  std::string folder;  ///< folder part of `name`; "." if it has none
};

/// A path that is missing, holds no log, or cannot be walked.
struct UnusablePath {
  std::string path;
  std::string reason;
  bool missing = false;  ///< missing, or without a log
};

struct FoundLogs {
  std::vector<FoundLog> logs;  ///< each file once, in natural_less() order of the names
  std::vector<UnusablePath> problems;
};

/// A file is taken whatever its name; a folder is searched for result_*.txt at any depth, without
/// following links to folders. A path that does not exist is expanded as a shell does: *, ?, [...],
/// {A,B}. With the paths rounds/hpc_v0.7 and rounds/hpc_v1.0, names begin with hpc_v0.7 and
/// hpc_v1.0, as with the path rounds.
FoundLogs find_logs(const std::vector<std::string>& paths);

/// The absolute path. Links are not resolved, as their names may contain the round.
std::filesystem::path full_path(const std::filesystem::path& path);

/// The folder of a file; "." if its path names none.
std::filesystem::path folder_of(const std::filesystem::path& file);

/// The own name of the folder at `path`, however the path is spelled: "us" for "us/", "." in it,
/// and a link to it.
std::string folder_name(const std::filesystem::path& path);

/// The folder of the submission that contains `path`: the parent of the innermost folder
/// "results"; empty if there is none.
std::filesystem::path submission_around(const std::filesystem::path& path);

/// Whether `path` is named like a log: result_*.txt.
bool is_result(const std::filesystem::path& path);

/// Order of names that compares digits by their value: result_2 precedes result_10.
bool natural_less(const std::string& one, const std::string& other);

}  // namespace analysis
