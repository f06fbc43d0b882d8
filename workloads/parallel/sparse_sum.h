// Sums over ranks of the values of largest magnitude.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/largest_values.h"
#include "workloads/parallel/piece_sums.h"

namespace parallel {

/// Of each piece, a rank sends top_k_of(density) values of largest magnitude (LargestValues) to all
/// others, kSparseValueBytes each. The sum has these of all ranks, added in the order of ranks, and
/// is 0 elsewhere. With error feedback, a rank keeps what it does not send and adds it to the
/// piece's next values, before it selects among them.
/// Source: top-k with error feedback, Shi et al., MLSys 2021; within nodes sums are dense before,
/// as in its hierarchical form (GradientExchange).
class SparseSums final : public PieceSums {
 public:
  /// The pieces have equal sizes on all ranks. `rests` has for each piece what was not sent so far,
  /// of the piece's size; empty without error feedback. All arguments outlive this. `name` says in
  /// the trace what is sent; a string literal.
  SparseSums(const runner::Communicator& ranks, const std::vector<std::span<float>>& pieces,
             const std::vector<std::span<float>>& rests, double density,
             telemetry::Telemetry& telemetry, const char* name);
  ~SparseSums() override;
  SparseSums(const SparseSums&) = delete;
  SparseSums& operator=(const SparseSums&) = delete;

  void begin(std::size_t piece) override;
  bool test() override;
  bool is_done(std::size_t piece) const override;

 private:
  class Sum;
  struct PlacedValue;
  const runner::Communicator& ranks_;
  LargestValues largest_;
  std::vector<std::unique_ptr<Sum>> sums_;
};

}  // namespace parallel
