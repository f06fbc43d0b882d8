// In which order a pass goes over operations and samples: few samples through several operations,
// so that each finds in the cache what the one before it wrote. Hides where all samples must have
// come together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/nn/network.h"
#include "workloads/nn/recompute.h"

namespace nn {

/// Neighbouring samples of a pass.
struct Samples {
  std::int64_t first = 0, count = 0;
};

/// A pass in `count` slices of neighbouring samples; sizes differ by at most one.
struct Slices {
  std::int64_t batch = 1, count = 1;
  Samples at(std::int64_t slice) const;
  /// Of slices: one or two.
  std::vector<std::int64_t> sizes() const;
};

enum class Pass { kForward, kBackward };

/// What is done with an operation for the samples of a slice.
enum class Work {
  kRun,      ///< its forward or backward pass
  kGather,   ///< backward: the parts of its value's gradient are all there, to be added up
  kObserve,  ///< batch norm: what its statistics are made of is there
  kRemake    ///< backward: its value is made again
};

struct PassStep {
  Work work = Work::kRun;
  std::size_t operation = 0;
};

/// Steps that are gone through slice by slice. After the last slice the statistics that were
/// observed are settled.
struct PassSegment {
  std::vector<PassStep> steps;
  std::vector<std::size_t> observed;  ///< batch norms, in the order of steps
  Slices slices;
  bool is_cached = false;  ///< what its steps read and write of a slice fits the caches together
};

/// Where one operation stands: indices of segments, forward and backward each from 0 on.
struct SegmentsOf {
  int forward = 0, backward = 0;
  int observed_forward = -1, observed_backward = -1;  ///< -1: observes nothing
  int remade = -1;  ///< where its value is made again, backward; -1: nowhere
  /// Whether its value is read in the segment that makes it alone, so that no more than a slice of
  /// it needs to be there; `passes_again`: of what is made again.
  bool passes = false, passes_again = false;
};

/// Bytes that all threads of a rank have of either level; 0: unknown.
struct CacheSizes {
  std::int64_t second = 0, third = 0;
};

struct PassOptions {
  std::int64_t batch = 1;
  std::int64_t value_bytes = 4;  ///< of one number of an activation
  std::int64_t threads = 1;
  std::int64_t cache_bytes = 0;    ///< of all threads; 0: unknown, no slices
  std::int64_t slice_samples = 0;  ///< most samples of a slice, whatever fits; 0: as many as fit
  bool training = true;            ///< else values need not be kept for a backward pass
  Recompute recompute = Recompute::kNone;
  /// Operations that take all samples at once.
  std::function<bool(const Operation&)> takes_all;
  /// Batch norms that do: they gather statistics and use them for some channels of all samples
  /// after the other, and observe nothing.
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

/// Whether `operation` is a batch norm that makes no value: its only reader, another one, takes the
/// source through both of their factors while it adds.
bool is_deferred(const Network& network, std::size_t operation);

}  // namespace nn
