// Blocking collectives as a program calls them that has nothing but MPI: what the exchanges of
// training are held against.
#pragma once

#include <memory>
#include <span>

#include "runner/communicator.h"

namespace runner {

/// Collectives over the ranks of a communicator, in their order, as one call of the MPI library
/// each, but for halo(). Sizes are the same on all ranks and fit an int. Throws SystemError.
class PlainMpi {
 public:
  /// `ranks` outlives this.
  explicit PlainMpi(const Communicator& ranks);

  /// MPI_Allreduce: sums over the ranks.
  void allreduce(std::span<const float> send, std::span<float> receive) const;
  /// MPI_Reduce_scatter_block: `send` has a part for each rank; the sums of this rank's.
  void reduce_scatter(std::span<const float> send, std::span<float> receive) const;
  /// MPI_Allgather: what each rank sends.
  void all_gather(std::span<const float> send, std::span<float> receive) const;
  /// MPI_Alltoall: part r of `send` goes to rank r, and part r of `receive` comes from it.
  void alltoall(std::span<const float> send, std::span<float> receive) const;
  /// MPI_Bcast from rank 0, in place.
  void broadcast(std::span<float> data) const;
  /// MPI_Irecv and MPI_Isend, as between parts of a volume that lie in a row: the first half of
  /// both buffers is for the rank before this one, the second half for the one after it.
  void halo(std::span<const float> send, std::span<float> receive) const;

 private:
  const std::shared_ptr<Accounting::Book> book_;
  const void* handle_;  ///< MPI_Comm*
  int rank_, ranks_;
};

}  // namespace runner
