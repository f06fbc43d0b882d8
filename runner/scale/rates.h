// Measured rates, from which times are predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace scale {

/// How fast a rank computes: samples over the time of input, forward and backward passes and
/// updates.
struct ComputeRate {
  double samples_per_s = 0;
  std::string source;
  /// Of the measured model, to compare; 0: unknown.
  std::int64_t flops_per_sample = 0;
  std::string workload;  ///< "": unknown
};

/// A node's link to the others.
struct Link {
  double bytes_per_s = 0, latency_s = 0;
  std::string source;
};

struct Rates {
  std::optional<ComputeRate> compute;
  std::optional<Link> link;
};

/// "10Gbit/s", "1.25GB/s" (decimal prefixes k, M, G, T) -> bytes per second. Throws ConfigError.
double parse_link_rate(const std::string& text);
/// "50us", "1.5ms" -> seconds. Throws ConfigError.
double parse_latency(const std::string& text);

/// From a run's telemetry file, a folder that holds one, or the JSON of `bench WORKLOAD`. Throws
/// DataError or ConfigError.
ComputeRate read_compute_rate(const std::string& path);
/// The slowest link and the longest latency in the JSON of `bench exchange`. Throws DataError.
Link read_link(const std::string& path);

}  // namespace scale
