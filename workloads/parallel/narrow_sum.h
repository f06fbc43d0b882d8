// Sums over ranks whose values travel as bfloat16, half of the bytes of floats.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/kernels/kernels.h"

namespace parallel {

/// Sums of blocks of floats, in place, each as often as wanted. Of each block a rank owns an even
/// part. It sends what others own to them, rounded once; adds what it gets to its own floats, in
/// the order of ranks; and sends the sums to all, rounded once more. All ranks get the same bits,
/// as an owner takes its sums rounded, too. A rank sends 2 bytes for each float that others own,
/// and 2 bytes to each other rank for each that it owns. Goes on only within test().
class NarrowSums {
 public:
  /// Collective. The blocks have equal sizes on all ranks. All arguments outlive this. `name` says
  /// in the trace what is sent; a string literal.
  NarrowSums(const runner::Communicator& ranks, const std::vector<std::span<float>>& blocks,
             const nn::Kernels& kernels, telemetry::Telemetry& telemetry, const char* name);
  ~NarrowSums();
  NarrowSums(const NarrowSums&) = delete;
  NarrowSums& operator=(const NarrowSums&) = delete;

  /// Begins the sum of a block: on all ranks in the order of blocks, as many times each.
  void begin(std::size_t block);
  /// Goes on as far as messages have arrived. Returns whether nothing is under way.
  bool test();
  /// Whether the sum of a block is not under way.
  bool is_done(std::size_t block) const;

 private:
  class Sum;
  const runner::Communicator& ranks_;
  /// Sums are sent among messages of their own: when parts have arrived, and so in which order with
  /// the parts of other blocks, differs from rank to rank.
  const runner::Communicator spreading_;
  std::vector<std::unique_ptr<Sum>> sums_;
};

}  // namespace parallel
