// A sum over ranks that goes round a ring: reduce-scatter, then allgather. Each rank sends
// 2 (ranks - 1) / ranks of the bytes, the least that is possible.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace runner {

/// One sum under way, in place. Chunk c of the data is added up in the order of ranks c, c + 1, ...
/// and then passed on, so all ranks get the same bits. Goes on only within go_on().
/// Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009).
class RingSum {
 public:
  /// As `rank` of the `ranks` of `comm`. `tag` is that of no other messages between them meanwhile.
  RingSum(std::span<float> data, MPI_Comm comm, int rank, int ranks, int tag,
          std::int64_t priority = 0);
  /// Only after is_done(), or when nothing of MPI is used any more.
  ~RingSum() = default;
  RingSum(const RingSum&) = delete;
  RingSum& operator=(const RingSum&) = delete;

  bool is_done() const { return step_ == last_step(); }
  /// Whether the left neighbour has begun, too.
  bool has_met_neighbour() const { return step_ > 0; }
  std::int64_t priority() const { return priority_; }
  /// Begins, or takes the steps whose messages have arrived. Returns whether it is done. Throws
  /// SystemError.
  bool go_on();
  /// What the rank sends in all.
  static std::size_t bytes_sent(std::size_t floats, int rank, int ranks);

 private:
  int last_step() const { return 2 * (ranks_ - 1); }
  /// Whether the message of a step is expected one step before: of two ranks, it goes where the
  /// one before is sent from.
  bool is_ahead() const { return ranks_ > 2; }
  std::span<float> chunk(int number) const;
  /// The chunk that arrives in a step, which is the one that is sent in the next.
  std::span<float> arriving(int step) const { return chunk(rank_ - step - 1); }
  void receive(int step);
  void send(int step);

  const std::span<float> data_;
  const MPI_Comm comm_;
  const int rank_, ranks_, tag_;
  const std::int64_t priority_;
  bool has_begun_ = false;
  int step_ = 0;
  MPI_Request sending_ = MPI_REQUEST_NULL;
  std::array<MPI_Request, 2> receiving_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};  ///< of two steps
  std::array<std::vector<float>, 2> arrived_;  ///< what is to be added, of two steps
};

}  // namespace runner
