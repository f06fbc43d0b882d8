// A sum over ranks of which each adds up a part, and sends it to all others. Each rank sends
// 2 (ranks - 1) / ranks of the bytes, the least that is possible.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace runner {

/// One sum under way, in place. Every element is added up in the order of ranks, so all ranks get
/// the same bits, however callers cut their data into sums. Takes two rounds of messages for any
/// number of ranks, and goes on only within go_on().
/// Source: reduce-scatter and allgather that follow one another, Rabenseifner, Optimization of
/// collective reduction operations, ICCS 2004; here with messages from each rank to each.
class DirectSum {
 public:
  /// As `rank` of the `ranks` of `comm`. `tag` is that of no other messages between them meanwhile.
  DirectSum(std::span<float> data, MPI_Comm comm, int rank, int ranks, int tag,
            std::int64_t priority = 0);
  /// Only after is_done(), or when nothing of MPI is used any more.
  ~DirectSum() = default;
  DirectSum(const DirectSum&) = delete;
  DirectSum& operator=(const DirectSum&) = delete;

  bool is_done() const { return phase_ == Phase::kDone; }
  std::int64_t priority() const { return priority_; }
  /// Begins, or goes on if messages have arrived. Returns whether it is done. Throws SystemError.
  bool go_on();
  /// What is on its way of the sums, once all others have begun, too; 0 before.
  std::size_t bytes_spreading() const;

 private:
  enum class Phase : std::uint8_t { kWaiting, kCollecting, kSpreading, kDone };
  std::span<float> part(int rank) const;
  void collect();
  void add_up();
  void spread();
  void send(std::span<const float> from, int to);
  void receive(std::span<float> to, int from);
  bool have_arrived();

  const std::span<float> data_;
  const MPI_Comm comm_;
  const int rank_, ranks_, tag_;
  const std::int64_t priority_;
  Phase phase_;
  std::vector<MPI_Request> requests_;
  /// While collecting: the others' values of this rank's part, in the order of ranks.
  std::unique_ptr<float[]> arrived_;
};

}  // namespace runner
