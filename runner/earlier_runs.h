// What earlier runs of a configuration on this system measured: the base of time estimates.
// Hides which results are comparable.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace runner {

/// Seconds that one earlier run took, each per unit of work.
struct EarlierRun {
  std::string telemetry_file;
  double staging_s = 0.0;
  double step_s = 0.0;  ///< mean over steps, of the slowest rank
  double rest_share =
      0.0;  ///< time beside staging and steps (evaluation, input), per time in steps
};

/// The latest result in `folder` of the same work: `resolved` agrees in everything but seed,
/// epochs, target, submission and results, on as many ranks. Results that cannot be read are passed
/// over.
std::optional<EarlierRun> find_earlier_run(const std::string& folder,
                                           const nlohmann::json& resolved, int ranks);

}  // namespace runner
