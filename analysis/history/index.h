// Index of past runs: a database that is derived from a folder of results.
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

/// Conditions that runs must meet; empty ones do not apply.
struct Query {
  std::string workload, system;                               ///< whole names
  std::string outcome;                                        ///< "success", "aborted", ...
  std::string revision;                                       ///< its beginning
  std::string text;                                           ///< part of the log's name
  std::vector<std::pair<std::string, std::string>> settings;  ///< names and values; all must match
  std::optional<std::int64_t> since_ms;                       ///< started then or later
};

/// The result of an update.
struct Update {
  std::int64_t read = 0, kept = 0, forgotten = 0;  ///< logs
  std::vector<std::string> problems;               ///< what could not be read, and why
  std::string rebuilt_because;                     ///< "" if the index was usable
};

/// For one thread; several processes may use the same file. All calls throw SystemError if the
/// database cannot be read or written.
class Index {
 public:
  /// Name of the index within the folder of results.
  static constexpr char kFile[] = ".trainmark-history.sqlite";
  /// `file` may be ":memory:". Makes an index of another version or with other tables anew, and a
  /// damaged file or a link with the name kFile. Throws ConfigError for a database of another
  /// program, DataError for any other existing file that is not an index.
  explicit Index(const std::filesystem::path& file);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  /// Reads logs below `folder` that are new or changed (all if `anew`), and removes those that are
  /// gone from the index.
  Update update(const std::filesystem::path& folder, bool anew, int threads);
  /// The runs that meet `query`, newest first.
  std::vector<PastRun> find(const Query& query);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

const std::vector<std::pair<std::string, std::string>>& past_run_definitions();

}  // namespace analysis::history
