// The telemetry file of a run (result_<n>.telemetry.json): the account of every rank.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/telemetry/telemetry.h"

namespace telemetry {

/// A rank and its place.
struct RankIdentity {
  int rank = 0;
  std::string host;
  int node = 0;  ///< index of its node, from 0
  int threads = 1;
};

/// The entry of one rank, as text to send to the rank that writes the file. Peak memory is measured
/// here.
std::string rank_entry(const RankIdentity& identity, const Telemetry& telemetry);

/// Writes the file of a run atomically. `rank_entries`: one rank_entry() text per rank, in rank
/// order. `layers`: rank 0's. `provenance`: a JSON object, such as {"machine": machine_facts(),
/// "build": build_facts()}. Throws SystemError naming `path`, and Error(kInternal) for malformed
/// entries.
void write_report(const std::string& path, const std::string& workload,
                  const std::vector<std::string>& rank_entries,
                  const std::vector<LayerMethod>& layers, const nlohmann::json& provenance);

/// Steps with a duration in [low_s, high_s).
struct StepBucket {
  double low_s = 0, high_s = 0;
  std::int64_t count = 0;
};

/// Step durations of one rank in seconds.
struct StepTimes {
  std::int64_t count = 0;
  double mean = 0, min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
  std::vector<StepBucket> buckets;  ///< ascending, without empty ones; empty if the file lacks them
};

struct RankReport {
  RankIdentity identity;
  double wall_s = 0;
  std::array<double, kSubsystemCount> subsystems_s{};
  /// By outer subsystem (one for which includes_inner_scopes() is true), then inner one; 0 if the
  /// file lacks them.
  std::array<std::array<double, kSubsystemCount>, kSubsystemCount> within_s{};
  std::array<std::int64_t, kCounterCount> counters{};
  StepTimes step_s;
  std::int64_t peak_rss_bytes = 0;
  std::int64_t scopes = 0;  ///< includes traced layers and transfers
  double scope_cost_s = 0;  ///< estimated cost of measuring
};

/// Smallest, mean and largest value over the ranks, and the ranks of the extremes.
struct Spread {
  double min = 0, mean = 0, max = 0;
  int min_rank = 0, max_rank = 0;
};

struct Report {
  std::string workload;
  bool has_within = false;          ///< whether the file has within_s
  bool has_levels = false;          ///< whether it has kBytesFromCopy to kRepairedSamples
  bool has_cache = false;           ///< whether it has kBytesFromMemory to kSamplesFromPeers
  bool has_gradients = false;       ///< whether it has kGradientBytesSent and the next
  std::vector<RankReport> ranks;    ///< by rank, at least one
  std::vector<LayerMethod> layers;  ///< of rank 0; empty if the file lacks them
  std::string provenance;           ///< JSON text of the object

  Spread seconds(Subsystem subsystem) const;
  Spread wall_s() const;
  /// The sum over the ranks, at most what fits: a file may claim any counts.
  std::int64_t total(Counter counter) const;
};

/// Permitted difference between the sum of a rank's subsystems and its wall time, relative to the
/// latter.
inline constexpr double kSumTolerance = 0.01;

/// Reads and checks the file: schema, kinds, ranks complete, subsystems that sum to the wall time
/// within kSumTolerance. Throws DataError naming path, place, what was expected and what was found.
Report read_report(const std::string& path);
/// The same for a text; `name` appears in messages.
Report parse_report(const std::string& text, const std::string& name);

}  // namespace telemetry
