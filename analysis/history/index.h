// The memory of runs: an index of a folder of results, which remain the truth.
// Hides the database, and which files changed since it was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/history/past_run.h"

namespace analysis::history {

/// What is searched for; what is empty is not asked.
struct Query {
  std::string workload, system;                               ///< whole names
  std::string outcome;                                        ///< "success", "aborted", ...
  std::string revision;                                       ///< how it begins
  std::string text;                                           ///< part of the log's name
  std::vector<std::pair<std::string, std::string>> settings;  ///< name and value, all of them
  std::optional<std::int64_t> since_ms;                       ///< started then or later
};

/// What an update did.
struct Update {
  std::int64_t read = 0, kept = 0, forgotten = 0;  ///< logs
  std::vector<std::string> problems;               ///< what could not be read, and why
  std::string rebuilt_because;                     ///< "" where the index was usable
};

/// For one thread; several processes may have the same file. All calls throw SystemError where the
/// database cannot be read or written.
class Index {
 public:
  /// Name of the index within the folder of results.
  static constexpr char kFile[] = ".trainmark-history.sqlite";
  /// `file` may be ":memory:". An index of another version is made anew, and so is a damaged file
  /// of the name kFile. Throws ConfigError for another program's
  /// database, DataError for any other file that is there and no index.
  explicit Index(const std::filesystem::path& file);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  /// Reads logs below `folder` that are new or changed (all, if `anew`), and forgets those that are
  /// gone.
  Update update(const std::filesystem::path& folder, bool anew, int threads);
  /// Newest first.
  std::vector<PastRun> find(const Query& query);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

const std::vector<std::pair<std::string, std::string>>& past_run_definitions();

}  // namespace analysis::history
