// Whether runs are random: each logs its seeds, and no two share one.
// Hides which seeds are compared.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// The official seed check of one folder: every log has a `seed`, all of them integers with
/// metadata file and lineno, and the triple (file, lineno, seed) occurs once in the folder.
/// `severity` is that of what breaks it.
void check_seeds(const PackageRuns& set, Severity severity, PackageFindings& findings);

/// Tells of folders of one benchmark in which a triple of an earlier folder occurs again: a copied
/// log looks so, though equal lists of seeds for several systems are allowed.
class SeedsOfFolders {
 public:
  void check(const PackageRuns& set, PackageFindings& findings);

 private:
  /// (benchmark, place and seed) -> the log that had it first, by folder and name.
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> seen_;
};

}  // namespace analysis::submission
