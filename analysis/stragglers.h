// Who was waited for in a run, and whether the network held everybody up: from the ranks' own
// accounts. Hides medians and thresholds.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace telemetry {
struct Report;
}

namespace analysis {

/// A rank that the others waited for in one phase of the run.
struct Straggler {
  std::string phase;  ///< training, staging, evaluation or checkpoint
  int rank = 0;
  int node = 0;
  std::string host;
  double longer_s = 0.0;         ///< its own work beyond the median rank's
  double others_waited_s = 0.0;  ///< exchange of the median of the others beyond its own
  /// The parts of its work that make up longer_s, largest first, and seconds beyond the median's.
  std::vector<std::pair<std::string, double>> where;
};

/// Exchange that nobody in particular is to blame for, and that takes much of the training.
struct SlowExchange {
  double least_s = 0.0;      ///< of any rank
  double percent = 0.0;      ///< of the training
  double bytes_per_s = 0.0;  ///< that a rank gave while an exchange was under way, mean
  int nodes = 1;
  std::vector<std::string> hosts;  ///< of the nodes, in their order
};

struct Waiting {
  std::vector<Straggler> stragglers;  ///< longest first
  std::optional<SlowExchange> slow_exchange;
};

Waiting find_waiting(const telemetry::Report& report);

/// "rank 1 on host b was waited for in training: ...".
std::string sentence(const Straggler& straggler);
std::string sentence(const SlowExchange& exchange);

/// What the words mean, with the thresholds.
std::string straggler_definition();
std::string slow_exchange_definition();

}  // namespace analysis
