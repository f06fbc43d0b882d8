// Moves a value [samples][features] from one division among ranks to another, or adds up partial
// sums on the way. Hides which ranks send what, and packing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/parallel/split_layers/distribution.h"

namespace parallel {

/// What a rank sends to or receives from another.
struct Portion {
  int rank = 0;
  Share what;
};

/// Which ranks' parts a rank gets.
enum class Sources {
  kOne,  ///< ranks with equal shares have equal values: one of them sends, the receiver if it can
  kAll   ///< all have partial sums, which the receiver adds up in rank order
};

/// Which ranks have what.
class Holders {
 public:
  /// `shares`: of each rank. Their samples are equal or do not overlap.
  explicit Holders(std::span<const Share> shares);
  /// What rank `rank` receives, in rank order, its own portion included.
  std::vector<Portion> portions_for(int rank, const Share& wanted, Sources sources) const;

 private:
  struct Held {
    Share share;
    std::vector<int> ranks;  ///< that have it
  };
  std::vector<Held> held_;  ///< by samples
};
/// Bytes that all ranks together send to others.
std::int64_t bytes_between(std::span<const Share> from, std::span<const Share> wanted,
                           Sources sources);

class Redistribution {
 public:
  /// `name` (a literal) says in the trace what is sent. All outlive this.
  Redistribution(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                 const char* name, std::span<const Share> from, std::span<const Share> wanted,
                 Sources sources);
  /// Collective. `made`: this rank's share of `from`, which it fills with its share of `wanted`.
  /// The order of additions is that of ranks, so results have the same bits each time.
  void run(std::span<const float> made, std::span<float> wanted);

 private:
  /// Sends this rank's portions, and receives those of others.
  void exchange(std::span<const float> made);
  const runner::Communicator& world_;
  telemetry::Telemetry& telemetry_;
  const char* name_;
  const Share from_, wanted_;
  const Sources sources_;
  std::vector<Portion> sent_, received_;  ///< by rank; received: this rank's own included
  bool is_exchange_ = false;              ///< whether any rank sends
  runner::RankParts send_parts_, receive_parts_;
  std::vector<float> send_, receive_;
};

}  // namespace parallel
