// `trainmark package`: builds the tree of a round's submission from run sets, checked.
// Hides the building beside the place where it appears.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"

namespace analysis::command {

struct PackageCommandOptions {
  std::string round;     ///< "hpc-3.0"
  std::string division;  ///< "open", "closed"
  std::string org;
  std::string system;                ///< file of the description
  std::string output = ".";          ///< folder in which the submitter's folder appears
  std::vector<std::string> results;  ///< folders of runs, or logs
  bool weak = false;
  std::optional<std::int64_t> runs;  ///< M, the runs in each folder
  bool add = false;                  ///< to the submitter's folder that is there
  bool dry_run = false;
  std::string json;  ///< a file, or "-": standard output, and nothing else there
  int threads = 0;   ///< logs judged at the same time; 0: one on each CPU
};

/// Returns kSuccess, kNonCompliant with every reason on `people` where something is refused, or
/// kData where a path of `results` cannot be read; in those cases nothing appears. Throws
/// ConfigError for a round that is not there and for a folder that is there already, SystemError
/// for what cannot be written. The logs are copied byte for byte.
base::ExitCode package(const PackageCommandOptions& options, std::ostream& out,
                       std::ostream& people);

}  // namespace analysis::command
