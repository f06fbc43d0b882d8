// The check of a submission: is it complete, and would MLCommons' package, repository and system
// description checkers accept it?
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

/// In a folder of results, except of throughput.
inline constexpr char kScalingFile[] = "scaling.json";

struct PackageOptions {
  RcpOptions rcp;  ///< its bypass is for every folder; package_checker_params add others
  /// A file for read_custom_points() in place of the embedded reference points; "": none.
  std::string custom_points;
  bool seed_checker_bypass = false;
};

/// Summary of one benchmark folder.
struct PackageSet {
  std::string name;  ///< path below the root of the check
  std::string system, benchmark;
  Scaling scaling = Scaling::kNone;
  std::int64_t runs = 0;
  std::optional<std::int64_t> runs_required;  ///< the exact number; for throughput the least
  std::vector<std::string> failing_runs;      ///< not compliant, or without its power measurement
  bool forgives_failing_runs = false;         ///< some run fails, but no more than may
  bool bypasses_rcp = false, bypasses_seeds = false;
  std::optional<RcpResult> rcp;          ///< only in the closed division since round 1.0
  std::optional<double> scaling_factor;  ///< from scaling.json
  std::optional<double> missing_factor;  ///< from the RCP test, if scaling.json does not have it
  std::optional<SetEnergy> energy;       ///< only for a folder with power/
  /// Mean time to train of the runs that count. Absent if the number of runs is not the required
  /// one, too many fail, one has no time, or the folder is of throughput.
  std::optional<double> time_to_train_s;

  /// The factor of the score: that of scaling.json, else that of the RCP test if it passed without
  /// a bypass, else 1.
  double score_factor() const;
  std::optional<double> raw_score_min() const;  ///< time_to_train_s in minutes
  std::optional<double> score_min() const;      ///< raw_score_min() * score_factor()
};

struct PackageReport {
  std::vector<PackageSet> sets;
  std::vector<PackageFinding> findings;  ///< by submission and folder

  /// Whether no finding is an error.
  bool passes() const;
};

/// Checks every submission of the tree, and writes nothing. Calls `read` once for each result file,
/// in order. Never throws for the contents of the tree; throws ConfigError for an invalid
/// options.custom_points.
PackageReport check_package(const PackageTree& tree, const PackageOptions& options,
                            const ReadPackageLog& read);

}  // namespace analysis::submission
