// Score or throughput of a run set by the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/pruning.h"

namespace analysis {

/// A member whose log could be read.
struct ScoredMember {
  std::int64_t result = 0;  ///< n of result_<n>.txt
  std::uint64_t seed = 0;
  const RunFacts* facts = nullptr;
  bool has_ended = false;   ///< false if it still runs or is to run again
  std::string rule_breaks;  ///< which rules of the round its log breaks; "" if none
};

/// Times to train of the successful members.
struct SetSpread {
  std::int64_t successful = 0;
  std::optional<double> min_s, median_s, mean_s, max_s;
  std::optional<double> variation;  ///< sample standard deviation / mean; of at least two
  /// Mean without the fastest and the slowest runs; ignores rule_breaks.
  std::optional<double> olympic_mean_s;
};
SetSpread spread_of(const std::vector<ScoredMember>& members, const std::string& benchmark);

/// Number of members of a set, including those without a log.
struct SetSize {
  std::int64_t runs = 0;
  std::int64_t pending = 0;  ///< still running, or yet to run
};

/// Score, by the rules, of a set whose members ran one after another.
struct SetScore {
  std::optional<double> time_to_train_s;  ///< the mean of the runs that count
  std::string reason;                     ///< why there is no score; "" if there is one
  std::optional<std::int64_t> runs_required;
  std::vector<std::int64_t> counted;  ///< result numbers, by time
};
/// A run that misses its target or breaks rules is a failure. Failures count as the slowest runs;
/// there is no score with more of them than the benchmark drops at each end (one; unet3d: four).
SetScore score_of(const std::vector<ScoredMember>& members, const SetSize& size,
                  const std::string& benchmark);

/// Throughput, by the rules, of a set whose members ran at the same time.
struct SetThroughput {
  std::optional<double> models_per_minute, ttta_s;  ///< of the kept models
  std::string reason;                               ///< why it is not a result; "" if it is
  std::optional<std::int64_t> runs_required;        ///< at least
  std::vector<std::int64_t> kept;
  std::vector<std::pair<std::int64_t, std::string>> pruned;  ///< result numbers and reasons
  std::optional<double> start_spread_s;  ///< first run_start to last run_start of the kept ones
};
SetThroughput throughput_of(const std::vector<ScoredMember>& members, const SetSize& size,
                            const std::string& benchmark);

}  // namespace analysis
