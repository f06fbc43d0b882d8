// A tree of submissions: which folders hold the runs of which system and benchmark.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/mllog/finding.h"

namespace analysis::submission {

/// Finding about a file or folder of a package.
struct PackageFinding {
  std::string path;  ///< relative to the root of the check; "." for the root
  mllog::Finding finding;
};

/// The round whose layout and rules apply.
struct PackageRound {
  std::string usage;  ///< "training" or "hpc"
  std::string round;  ///< "3.0"

  bool at_least(const std::string& other) const;
  /// HPC has strong/ and weak/ between system and benchmark since 1.0.
  bool has_scaling_folders() const;
};

enum class Scaling { kNone, kStrong, kWeak };

/// The runs of one system in one benchmark.
struct BenchmarkFolder {
  std::filesystem::path path;
  std::string name;  ///< path below the root of the check
  std::string system;
  std::string benchmark;
  Scaling scaling = Scaling::kNone;
  std::vector<std::filesystem::path> results;  ///< result_*.txt by name, numbers by value
};

/// The submission of one submitter.
struct Submission {
  std::filesystem::path path;
  std::string name;  ///< path below the root of the check, "." for the root itself
  std::vector<std::filesystem::path> descriptions;    ///< systems/*.json, by name
  std::vector<std::filesystem::path> system_folders;  ///< results/*, by name
  std::vector<BenchmarkFolder> benchmarks;
};

struct PackageTree {
  std::filesystem::path root;
  PackageRound round;
  std::vector<Submission> submissions;
  std::vector<PackageFinding> findings;  ///< about the layout

  /// "a/b" for root/a/b, "." for the root.
  std::string name_of(const std::filesystem::path& path) const;
};

/// Reads names only. `root` is a submission (a folder with results/ or systems/) or holds
/// submissions, at most two folders down. Never throws for the contents of the tree: what cannot be
/// read becomes a finding.
PackageTree read_package_tree(const std::filesystem::path& root, const PackageRound& round);

/// The entries of a folder, by name, numbers by value. Sets `problem` if it cannot be read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder,
                                              std::string& problem);

}  // namespace analysis::submission
