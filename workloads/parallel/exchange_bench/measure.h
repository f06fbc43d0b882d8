// Times of one collective at one size, by training's code and by MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/parallel/exchange_bench/operation.h"

namespace exchange_bench {

struct Effort {
  int warmup = 5;        ///< calls of each side before the clock starts
  int iterations = 20;   ///< timed calls of each side
  double seconds = 2.0;  ///< for the calls before, and for the timed calls; then kFewest are enough
  bool checks = true;    ///< whether results are compared with what they must be
  /// Exchanges that take less are too short for computation beside them.
  double shortest_overlap = 1e-3;
  static constexpr int kFewest = 4;  ///< with fewer, `compare` could not tell a difference
};

struct Times {
  std::vector<double> seconds;        ///< of each call, on the slowest rank
  std::optional<std::int64_t> wrong;  ///< elements, over all ranks and checks; none: not checked
  double median() const;
};

/// An exchange beside computation on all threads of the ranks that takes about as long: median
/// seconds on the slowest rank.
struct Overlap {
  double computation = 0.0, exchange = 0.0, both = 0.0;
  /// The share of the exchange that is hidden: (computation + exchange - both) / exchange, from 0
  /// to 1.
  double hidden() const;
};

struct Row {
  const Kind* kind = nullptr;
  std::int64_t bytes = 0;
  Times training, mpi;
  std::optional<Overlap> overlap;  ///< none for what training waits for, and for short exchanges
};

/// Collective. Both sides take turns, call by call. `bytes` divides by the kind's unit. The row is
/// complete on all ranks. Throws SystemError if the node lacks the shared memory.
Row measure(const Kind& kind, std::int64_t bytes, const Effort& effort,
            const runner::Surroundings& around);

}  // namespace exchange_bench
