// Checks that each run logs its seeds, and that no two runs share one.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "analysis/submission/package_findings.h"

namespace analysis::submission {

/// The official seed check of one folder: every log has a `seed`, all of them integers with
/// metadata file and lineno, and the triple (file, lineno, seed) occurs once in the folder.
/// `severity` is that of the findings.
void check_seeds(const PackageRuns& set, Severity severity, PackageFindings& findings);

/// Reports folders of one benchmark in which a triple of an earlier folder occurs again. This may
/// be a copied log, though equal lists of seeds for several systems are allowed.
class SeedsOfFolders {
 public:
  void check(const PackageRuns& set, PackageFindings& findings);

 private:
  /// (benchmark, place and seed) -> (folder, name) of the first log with it.
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> seen_;
};

}  // namespace analysis::submission
