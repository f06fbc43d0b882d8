// What a package will hold, and what speaks against it: run sets become the folders of a round.
// Hides which logs belong together, the layouts, and what logs must agree on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/findings/check_report.h"

namespace analysis::command {

/// What a submitter says.
struct PackageRequest {
  submission::PackageRound round;
  std::string division;          ///< "open", "closed"
  std::string org;               ///< as the logs must have it
  std::filesystem::path system;  ///< description; its stem is the system's name
  bool is_weak = false;          ///< every set is of throughput; else set.json tells
  /// M: each folder holds this many runs, of which the window that check --runs names is taken;
  /// absent: all runs of a folder are.
  std::optional<std::int64_t> group_runs;
};

/// A copy of `source`, or `text` where that is empty.
struct PlannedFile {
  std::filesystem::path target;  ///< below the folder of the package
  std::filesystem::path source;
  std::string text;
};

/// A folder of results as planned.
struct PlannedSet {
  std::filesystem::path target;
  std::string benchmark;
};

struct PackagePlan {
  std::string folder;  ///< of the submitter: `org` as a name of a folder
  std::vector<PlannedFile> files;
  std::vector<PlannedSet> sets;
  std::vector<std::string> refusals;  ///< each with what to do
  std::vector<std::string> notes;     ///< what a submitter should know, and which fails nothing
};

/// `logs` are judged by the round's rules, with what the check of a submission needs. Reads what
/// lies beside them. Never throws for what it reads.
PackagePlan plan_package(const PackageRequest& request, const CheckReport& logs);

}  // namespace analysis::command
