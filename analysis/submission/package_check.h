// The check of a submission: is it complete, and would MLCommons' package, repository and system
// description checkers take it? Hides the order of the checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/submission/energy.h"
#include "analysis/submission/package_findings.h"
#include "analysis/submission/rcp.h"

namespace analysis::submission {

/// In a folder of results; not of throughput.
inline constexpr char kScalingFile[] = "scaling.json";

struct PackageOptions {
  RcpOptions rcp;  ///< bypass holds for every folder, besides the package_checker_params
  /// A file for read_custom_points() in place of the embedded reference points; "" for those.
  std::string custom_points;
  bool seed_checker_bypass = false;
};

/// One benchmark folder, summed up.
struct PackageSet {
  std::string name;  ///< path below the root of the check
  std::string system, benchmark;
  Scaling scaling = Scaling::kNone;
  std::int64_t runs = 0;
  std::optional<std::int64_t> runs_required;  ///< throughput: at least; else exactly
  std::vector<std::string> failing_runs;      ///< not compliant, or without its power measurement
  bool forgives_failing_runs = false;         ///< there are some, but no more than may be
  bool bypasses_rcp = false, bypasses_seeds = false;
  std::optional<RcpResult> rcp;            ///< closed division since round 1.0
  std::optional<double> scaling_factor;    ///< of scaling.json
  std::optional<double> unwritten_factor;  ///< of the RCP test, where scaling.json has another
  std::optional<SetEnergy> energy;         ///< of a folder with power/
  /// Mean time to train of the runs that count. Absent where the number of runs is not the required
  /// one, too many fail, one has no time, or the folder is of a throughput.
  std::optional<double> time_to_train_s;

  /// What makes a score of time_to_train_s: scaling.json's factor, else that of the RCP test where
  /// it passed by itself, else 1.
  double score_factor() const;
  std::optional<double> raw_score_min() const;  ///< time_to_train_s in minutes
  std::optional<double> score_min() const;      ///< the same by score_factor()
};

struct PackageReport {
  std::vector<PackageSet> sets;
  std::vector<PackageFinding> findings;  ///< by submission and folder

  /// No finding is an error.
  bool passes() const;
};

/// Checks every submission of the tree. `read` is called once for each result file, in order. Reads
/// only. Never throws for what the tree holds; ConfigError for a broken options.custom_points.
PackageReport check_package(const PackageTree& tree, const PackageOptions& options,
                            const ReadPackageLog& read);

}  // namespace analysis::submission
