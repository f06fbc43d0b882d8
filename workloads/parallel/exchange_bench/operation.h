// The collectives that are measured, each as training performs it and as MPI does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "runner/workload.h"

namespace exchange_bench {

/// kTraining: the code by which training exchanges. kMpi: a blocking call (runner::PlainMpi).
enum class Side { kTraining, kMpi };

/// Work beside an exchange: `piece` is to be called `pieces` times, as training computes layers.
struct Work {
  int pieces = 0;
  std::function<void()> piece;
};

/// One collective at one size, with its buffers. Every call is collective over all ranks. Ranks of
/// a node share memory: between fill(), a run and wrong() all ranks meet in a barrier.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Fills what is sent with numbers that tell rank and place, and clears what is received.
  virtual void fill() = 0;
  virtual void run(Side side) = 0;
  /// run(Side::kTraining) with work while it is under way. Only if the kind hides.
  virtual void run_beside(const Work& work);
  /// Elements of this rank that are not as they must be after fill() and run(side).
  virtual std::int64_t wrong(Side side) const = 0;
};

/// A collective. Sizes, counts and the factors of the bus bandwidth are those of NVIDIA's
/// nccl-tests (doc/PERFORMANCE.md there).
struct Kind {
  const char* name = "";
  const char* reduction = "none";  ///< "sum"
  int root = -1;                   ///< -1: none
  const char* training = "";       ///< how training performs it
  const char* mpi = "";            ///< the call
  bool hides = false;              ///< whether training computes while it is under way
  /// Sizes are multiples of this many floats.
  std::int64_t (*unit)(int ranks) = nullptr;
  /// The column `count` is a size in elements over this.
  std::int64_t (*parts)(int ranks) = nullptr;
  /// The bytes that the busiest rank must send, over the size.
  double (*traffic)(int ranks) = nullptr;
  std::unique_ptr<Operation> (*make)(std::int64_t floats,
                                     const runner::Surroundings& around) = nullptr;
  int buffers = 2;  ///< of a rank, each as large as the size, while results are checked
};

/// In the order in which they are measured.
std::span<const Kind> kinds();

}  // namespace exchange_bench
