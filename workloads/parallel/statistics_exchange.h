// Batch-norm statistics of groups that lie on several ranks.
// Hides the communicators of those groups.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "runner/communicator.h"
#include "workloads/nn/batch_groups.h"

namespace parallel {

/// Neighbouring shared groups may have a rank in common, so those of even and of odd parity each
/// have communicators of their own.
class GroupExchange final : public nn::StatisticsExchange {
 public:
  /// Collective: every rank of `world`, with its own groups.
  GroupExchange(const runner::Communicator& world, const nn::BatchGroups& groups);
  void gather(const nn::BatchGroup& group, std::span<const double> mine,
              std::span<double> all) override;

 private:
  std::vector<runner::Communicator> of_parity_;
};

/// Samples of a pass that rank `rank` of `ranks` computes: contiguous, sizes differing by at most
/// one.
std::vector<nn::PassSlice> slice_pass(std::int64_t samples, int ranks);

}  // namespace parallel
