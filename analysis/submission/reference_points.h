// Reference convergence points: after how long the reference implementation converged.
// Hides their files, and that one point serves several rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace analysis::submission {

/// The reference's runs at one batch size.
struct ReferencePoint {
  double batch_size = 0.0;              ///< samples
  std::vector<double> converged_after;  ///< per run, rising
};

/// What a round compares submissions of one benchmark with.
struct ReferenceSet {
  std::string usage;               ///< "training" or "hpc"
  std::string round;               ///< "3.0"; "" where a file of the user gives the points
  std::string benchmark;           ///< submission_benchmark
  std::string unit;                ///< of converged_after: mllog::to_string(PositionUnit)
  std::int64_t runs_required = 0;  ///< of a submission
  /// Fastest and slowest runs that are left out of means, on each side, of reference and submission
  /// alike. A failed run takes the place of the slowest, so no more may fail.
  std::size_t dropped_each_end = 1;
  /// The least mean that passes is so much lower than the t-test's. Round 5.0 brought it for
  /// llama31_405b.
  double leeway = 0.0;
  std::string source;                  ///< repository, path and commit, or the user's file
  std::vector<ReferencePoint> points;  ///< by rising batch size

  /// What means leave out: "the fastest and the slowest run".
  std::string extremes() const;
};

/// "3.0" of "3.0", "v3.0" and "3.0.0"; anything else as it is.
std::string short_round(const std::string& round);

/// Nothing where that round has none for the benchmark. Throws ConfigError when the embedded file
/// breaks its own schema.
std::optional<ReferenceSet> reference_points(const std::string& usage, const std::string& round,
                                             const std::string& benchmark);

/// Every set that is embedded, by usage, benchmark and round.
std::vector<ReferenceSet> all_reference_points();

/// The sets in a file of this project's schema, one for each of its rounds. `name` stands in
/// messages. Throws ConfigError with the place and what was expected.
std::vector<ReferenceSet> parse_reference_file(const std::string& text, const std::string& name);

/// The points of a file that the user gives instead, in MLCommons' format: an object of records
/// with Benchmark, BS and "Epochs to converge", or "samples to converge". Other members are passed
/// over, and so are records of other benchmarks. `round` tells runs and unit; "" is the newest.
/// Throws ConfigError.
ReferenceSet read_custom_points(const std::string& path, const std::string& round,
                                const std::string& benchmark);

/// What the RCP test compares with: the round's points, or those of `custom_points`, a file for
/// read_custom_points(), unless that is "".
std::optional<ReferenceSet> points_of(const std::string& usage, const std::string& round,
                                      const std::string& benchmark,
                                      const std::string& custom_points);

}  // namespace analysis::submission
