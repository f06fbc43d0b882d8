// Exchange of batch-norm statistics within groups that span several ranks.
// Hides the communicators of those groups.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "runner/communicator.h"
#include "workloads/nn/batch_groups.h"

namespace parallel {

/// Neighbouring shared groups may have a rank in common, so groups of even and of odd parity use
/// separate communicators.
class GroupExchange final : public nn::StatisticsExchange {
 public:
  /// Collective over `world`. `groups` are this rank's.
  GroupExchange(const runner::Communicator& world, const nn::BatchGroups& groups);
  void gather(const nn::BatchGroup& group, std::span<const double> mine,
              std::span<double> all) override;

 private:
  std::vector<runner::Communicator> of_parity_;
};

/// The slice of a pass that each of `ranks` ranks computes: contiguous, sizes differing by at most
/// one. Throws ConfigError when there are fewer samples than ranks.
std::vector<nn::PassSlice> slice_pass(std::int64_t samples, int ranks);

}  // namespace parallel
