// `trainmark package`: builds the tree of a round's submission from run sets, and checks it. The
// tree is built in a temporary folder and then renamed into place.
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
  std::string system;                ///< file of the system description
  std::string output = ".";          ///< parent of the submitter's folder
  std::vector<std::string> results;  ///< folders of runs, or logs
  bool weak = false;
  std::optional<std::int64_t> runs;  ///< M, the number of runs in each folder
  bool add = false;                  ///< add to an existing folder of the submitter
  bool dry_run = false;
  std::string json;  ///< a file, or "-": standard output, which then gets no text
  int threads = 0;   ///< logs judged concurrently; 0: one per CPU
};

/// Returns kSuccess; kNonCompliant if something is refused, with every reason on `messages`; kData
/// if a path of `results` cannot be read. Except for kSuccess, nothing is written. Copies logs byte
/// for byte. Throws ConfigError for an unknown round, and for a folder of the submitter that exists
/// already (without `add`) or holds a different file of the same name; SystemError for what cannot
/// be written.
base::ExitCode package(const PackageCommandOptions& options, std::ostream& out,
                       std::ostream& messages);

}  // namespace analysis::command
