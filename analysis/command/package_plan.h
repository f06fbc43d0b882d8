// Plans a package: the files that it will hold, and the reasons to refuse it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis::command {

/// The submitter's options.
struct PackageRequest {
  submission::PackageRound round;
  std::string division;          ///< "open", "closed"
  std::string org;               ///< as in the logs
  std::filesystem::path system;  ///< description; its stem is the system's name
  bool is_weak = false;          ///< all sets are throughput sets; else set.json decides
  /// M: each folder holds this many runs, of which the window that check --runs names is taken.
  /// Absent: all runs of a folder are taken.
  std::optional<std::int64_t> group_runs;
};

/// A copy of `source`, or `text` if `source` is empty.
struct PlannedFile {
  std::filesystem::path target;  ///< below the folder of the package
  std::filesystem::path source;
  std::string text;
};

/// A planned folder of results.
struct PlannedSet {
  std::filesystem::path target;
  std::string benchmark;
};

struct PackagePlan {
  std::string folder;  ///< the submitter's: `org` as a folder name
  std::vector<PlannedFile> files;
  std::vector<PlannedSet> sets;
  std::vector<std::string> refusals;  ///< each says what to do
  std::vector<std::string> notes;     ///< for the submitter to know; they refuse nothing
};

/// REQUIRES: `logs` are judged by the round's rules, and have CheckedFile::package. Also reads the
/// files next to the logs; never throws for their contents.
PackagePlan plan_package(const PackageRequest& request, const CheckReport& logs);

}  // namespace analysis::command
