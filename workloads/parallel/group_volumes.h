// Exchanges the margins of split volumes, and the margins' gradients, between neighbouring ranks.
// Hides packing of faces and edges into buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runner/communicator.h"
#include "runner/telemetry/telemetry.h"
#include "workloads/nn/volume_exchange.h"
#include "workloads/parallel/transfer.h"

namespace parallel {

/// Bytes that a rank sends to fill its neighbours' margins of one volume: the faces of its part,
/// and the edges between two faces for its diagonal neighbours.
std::int64_t margin_bytes(const nn::VolumePart& part, const nn::StoredVolume& volume);

class GroupVolumes final : public nn::VolumeExchange {
 public:
  /// Collective over `world`. Each depth_parts * height_parts consecutive ranks form a group that
  /// splits its volumes. Throws ConfigError when that product does not divide the number of ranks.
  GroupVolumes(const runner::Communicator& world, std::int64_t depth_parts,
               std::int64_t height_parts, telemetry::Telemetry& telemetry);
  ~GroupVolumes() override;
  const nn::VolumePart& part() const override { return part_; }
  void begin_fill(const nn::StoredVolume& volume) override;
  void finish_fill() override;
  void begin_return(const nn::StoredVolume& volume) override;
  void finish_return() override;
  void poll() override;
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  /// Collective. Performs the exchanges of the last traced step again, with other data: each begins
  /// when the one before has ended.
  void exchange_alone();
  /// Bytes sent to neighbours since the last call.
  std::int64_t take_bytes() { return std::exchange(bytes_, 0); }

 private:
  struct Exchange;
  /// What is exchanged between the ranks of the group.
  struct Sizes {
    const char* name;  ///< in the trace
    runner::RankParts sent, received;
  };
  /// Begins to exchange, and in traced steps notes the sizes.
  runner::Pending start(Sizes sizes, std::span<const std::byte> send, std::span<std::byte> receive);
  /// Waits for the oldest exchange in `queue` and removes it.
  Exchange finished(std::list<Exchange>& queue);
  void begin(const nn::StoredVolume& volume, bool returns, std::list<Exchange>& queue);

  nn::VolumePart part_;
  runner::Communicator group_;
  telemetry::Telemetry& telemetry_;
  std::list<Exchange> fills_, returns_;
  std::vector<std::vector<std::byte>> spare_;  ///< buffers for reuse
  std::int64_t bytes_ = 0;
  std::vector<Sizes> noted_;  ///< of the last traced step
  std::int64_t noted_step_ = 0;
};

}  // namespace parallel
