// Reference convergence points (RCP): after how long the reference implementation converged.
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

/// The points with which a round compares submissions of one benchmark.
struct ReferenceSet {
  std::string usage;               ///< "training" or "hpc"
  std::string round;               ///< "3.0"; "" for points from a file of the user
  std::string benchmark;           ///< submission_benchmark
  std::string unit;                ///< of converged_after: mllog::to_string(PositionUnit)
  std::int64_t runs_required = 0;  ///< of a submission
  /// The number of fastest runs, and of slowest runs, that means leave out, for reference and
  /// submission alike. A failed run takes the place of a slowest, so no more may fail.
  std::size_t dropped_each_end = 1;
  /// The least mean that passes is lower than the t-test's by this much. Introduced in round 5.0
  /// for llama31_405b.
  double leeway = 0.0;
  std::string source;                  ///< repository, path and commit, or the user's file
  std::vector<ReferencePoint> points;  ///< by rising batch size

  /// The runs that means leave out: "the fastest and the slowest run".
  std::string extremes() const;
};

/// "3.0" for "3.0", "v3.0" and "3.0.0"; other text only loses a leading "v".
std::string short_round(const std::string& round);

/// Nothing if the round has no points for the benchmark. Throws ConfigError if the embedded file
/// does not match its schema.
std::optional<ReferenceSet> reference_points(const std::string& usage, const std::string& round,
                                             const std::string& benchmark);

/// All embedded sets, by usage, benchmark and round.
std::vector<ReferenceSet> all_reference_points();

/// Parses a file of this project's schema into one set for each of its rounds. Messages contain
/// `name`. Throws ConfigError with the place of a fault and what was expected.
std::vector<ReferenceSet> parse_reference_file(const std::string& text, const std::string& name);

/// Reads points from a file of the user, in MLCommons' format: an object of records with Benchmark,
/// BS and "Epochs to converge", or "samples to converge". Ignores other members, and records of
/// other benchmarks. `round` determines the required runs and the unit; "" is the newest. Throws
/// ConfigError.
ReferenceSet read_custom_points(const std::string& path, const std::string& round,
                                const std::string& benchmark);

/// The points for the RCP test: those in `custom_points`, a file for read_custom_points(), or the
/// round's if that is "".
std::optional<ReferenceSet> points_of(const std::string& usage, const std::string& round,
                                      const std::string& benchmark,
                                      const std::string& custom_points);

}  // namespace analysis::submission
