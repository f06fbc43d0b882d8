// Findings about a package, and the runs of one of its folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analysis/submission/package_log.h"
#include "analysis/submission/package_rules.h"
#include "analysis/submission/package_tree.h"

namespace analysis::submission {

/// Collects findings in the order in which they are added.
class PackageFindings {
 public:
  void add(Severity severity, const std::string& path, const char* rule, const std::string& text,
           std::int64_t line = 0, std::int64_t column = 0) {
    all_.push_back({path, {severity, line, column, text, rule}});
  }
  /// For a rule with a fixed severity.
  void add(const std::string& path, const char* rule, const std::string& text,
           std::int64_t line = 0, std::int64_t column = 0) {
    add(path, package_finding(rule, text, line, column));
  }
  void add(const std::string& path, const mllog::Finding& finding) {
    all_.push_back({path, finding});
  }
  void add_all(std::vector<PackageFinding> more) {
    for (PackageFinding& one : more) all_.push_back(std::move(one));
  }
  std::vector<PackageFinding> take() && { return std::move(all_); }

 private:
  std::vector<PackageFinding> all_;
};

/// One result file and its log.
struct PackageRun {
  std::string file;  ///< "result_1.txt"
  std::string name;  ///< path below the root of the check
  PackageLog log;
};

/// A benchmark folder with its runs. The folder must outlive this.
struct PackageRuns {
  const BenchmarkFolder* folder = nullptr;
  std::vector<PackageRun> runs;
};

}  // namespace analysis::submission
