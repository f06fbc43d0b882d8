// The order in which a pass goes over operations and samples: few samples through several
// operations, so that each finds in the cache what the one before it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/nn/network.h"
#include "workloads/nn/recompute.h"

namespace nn {

/// A range of consecutive samples of a pass.
struct Samples {
  std::int64_t first = 0, count = 0;
};

/// A pass in `count` slices of consecutive samples; sizes differ by at most one.
struct Slices {
  std::int64_t batch = 1, count = 1;
  Samples at(std::int64_t slice) const;
  /// The one or two different sizes, ascending.
  std::vector<std::int64_t> sizes() const;
};

enum class Pass { kForward, kBackward };

/// What a step does with an operation for the samples of a slice.
enum class Work {
  kRun,       ///< the forward or backward pass
  kGather,    ///< backward: adds up the contributions to its value's gradient
  kObserve,   ///< batch norm: gathers statistics
  kRecompute  ///< backward: recomputes its value
};

struct PassStep {
  Work work = Work::kRun;
  std::size_t operation = 0;
};

/// Steps that are executed slice by slice. After the last slice the statistics of the observed
/// batch norms are settled.
struct PassSegment {
  std::vector<PassStep> steps;
  std::vector<std::size_t> observed;  ///< batch norms, in the order of steps
  Slices slices;
  bool is_cached = false;  ///< the caches hold what its steps touch of a slice
};

/// The segments of one operation: indices, counted from 0 in the forward and in the backward pass.
struct SegmentsOf {
  int forward = 0, backward = 0;
  int observed_forward = -1, observed_backward = -1;  ///< -1: nothing to observe
  int recomputed_in = -1;  ///< backward segment that recomputes its value; -1: none
  /// Whether the segment that makes its value is the only one to read it, so that its buffer holds
  /// one slice. `is_transient_recomputed`: the same of the recomputed value.
  bool passes = false, is_transient_recomputed = false;
};

/// Bytes of the second- and third-level caches of all threads of a rank; 0: unknown.
struct CacheSizes {
  std::int64_t second = 0, third = 0;
};

struct PassOptions {
  std::int64_t batch = 1;
  std::int64_t value_bytes = 4;  ///< of one element of an activation
  std::int64_t threads = 1;
  std::int64_t cache_bytes = 0;    ///< of all threads; 0: unknown, no slices
  std::int64_t slice_samples = 0;  ///< most samples of a slice; 0: as many as fit the caches
  bool training = true;            ///< false: no values are kept for a backward pass
  Recompute recompute = Recompute::kNone;
  /// Operations that take all samples at once.
  std::function<bool(const Operation&)> takes_all;
  /// Batch norms that take all samples at once, and observe nothing: they gather statistics of some
  /// channels over all samples and apply them, then go on to the next channels.
  std::function<bool(const Operation&, Pass)> goes_by_channels;
};

class PassPlan {
 public:
  PassPlan(const Network& network, const PassOptions& options);
  const std::vector<PassSegment>& forward() const { return forward_; }
  const std::vector<PassSegment>& backward() const { return backward_; }
  const SegmentsOf& of(std::size_t operation) const { return of_.at(operation); }

 private:
  void plan_forward(const Network& network, const PassOptions& options);
  void plan_backward(const Network& network, const PassOptions& options);
  bool passes(const Network& network, std::size_t operation) const;
  std::vector<PassSegment> forward_, backward_;
  std::vector<SegmentsOf> of_;
};

/// Whether `operation` is a batch norm whose output is never stored: its only reader, a batch norm
/// that adds it as a residual, computes it from the source on the fly.
bool is_deferred(const Network& network, std::size_t operation);

}  // namespace nn
