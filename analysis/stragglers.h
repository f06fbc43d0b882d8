// Finds ranks that the others waited for, and exchange that slows all of them, from telemetry.
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
  double longer_s = 0.0;         ///< its own work minus the median rank's
  double others_waited_s = 0.0;  ///< median exchange of the others minus its own
  /// The parts of its work that make up longer_s, and their seconds above the median, descending.
  std::vector<std::pair<std::string, double>> where;
};

/// Exchange that takes a large part of the training on every rank, so that no single rank is the
/// cause.
struct SlowExchange {
  double least_s = 0.0;      ///< the smallest of all ranks
  double percent = 0.0;      ///< least_s of the training
  double bytes_per_s = 0.0;  ///< sent by a rank during exchange, mean
  int nodes = 1;
  std::vector<std::string> hosts;  ///< one of each node, in the order of ranks
};

struct Waiting {
  std::vector<Straggler> stragglers;  ///< longest first
  std::optional<SlowExchange> slow_exchange;
};

Waiting find_waiting(const telemetry::Report& report);

/// "rank 1 on host b was waited for in training: ...".
std::string sentence(const Straggler& straggler);
std::string sentence(const SlowExchange& exchange);

/// Definitions of the two, with the thresholds.
std::string straggler_definition();
std::string slow_exchange_definition();

}  // namespace analysis
