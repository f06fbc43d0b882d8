// What the rules make of the members of a run set: a score, or a throughput.
// Hides the olympic rule, and the reasons why there is none.
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
  bool has_ended = false;   ///< it stays as it is; else it still runs, or runs again
  std::string rule_breaks;  ///< what of the round's rules its log breaks; "" where it complies
};

/// Times to train of the successful members.
struct SetSpread {
  std::int64_t successful = 0;
  std::optional<double> min_s, median_s, mean_s, max_s;
  std::optional<double> variation;  ///< sample standard deviation over the mean; of two and more
  /// Mean without the fastest and the slowest runs, as if all rules were kept.
  std::optional<double> olympic_mean_s;
};
SetSpread spread_of(const std::vector<ScoredMember>& members, const std::string& benchmark);

/// How many members a set has, those without a log too.
struct SetSize {
  std::int64_t runs = 0;
  std::int64_t pending = 0;  ///< that still run, or are to run
};

/// By the rules, of a set whose members ran one by one.
struct SetScore {
  std::optional<double> time_to_train_s;  ///< the mean of the runs that count
  std::string reason;                     ///< why there is no score; "" where there is one
  std::optional<std::int64_t> runs_required;
  std::vector<std::int64_t> counted;  ///< result numbers, by time
};
/// A run that misses its target or breaks rules is a failure: as many of them as the benchmark
/// drops at each end (one; of unet3d four) take the places of the slowest.
SetScore score_of(const std::vector<ScoredMember>& members, const SetSize& size,
                  const std::string& benchmark);

/// By the rules, of a set whose members ran together.
struct SetThroughput {
  std::optional<double> models_per_minute, ttta_s;  ///< of the models that are kept
  std::string reason;                               ///< why it is no result; "" where it is one
  std::optional<std::int64_t> runs_required;        ///< at least
  std::vector<std::int64_t> kept;
  std::vector<std::pair<std::int64_t, std::string>> pruned;  ///< result numbers and reasons
  std::optional<double> start_spread_s;  ///< from the first run_start to the last, of those kept
};
SetThroughput throughput_of(const std::vector<ScoredMember>& members, const SetSize& size,
                            const std::string& benchmark);

}  // namespace analysis
