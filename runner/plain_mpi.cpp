// Blocking collectives of the MPI library.
#include "runner/plain_mpi.h"

#include <mpi.h>

#include <array>

#include "runner/base/narrow.h"
#include "runner/communicator_state.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

MPI_Comm comm(const void* handle) { return *static_cast<const MPI_Comm*>(handle); }

int count_of(std::span<const float> floats) { return base::narrow<int>(floats.size()); }

/// Makes a call that waits for other ranks.
template <class Call>
void wait_in(Accounting::Book& book, const char* name, const Call& call) {
  const base::Activity::Waiting waiting(book.activity, name);
  const CallLock lock = book.lock();
  check(call(), name);
}

}  // namespace

PlainMpi::PlainMpi(const Communicator& ranks)
    : book_(ranks.book()), handle_(ranks.handle()), rank_(ranks.rank()), ranks_(ranks.size()) {}

void PlainMpi::allreduce(std::span<const float> send, std::span<float> receive) const {
  wait_in(*book_, "MPI_Allreduce", [&] {
    return MPI_Allreduce(send.data(), receive.data(), count_of(send), MPI_FLOAT, MPI_SUM,
                         comm(handle_));
  });
}

void PlainMpi::reduce_scatter(std::span<const float> send, std::span<float> receive) const {
  wait_in(*book_, "MPI_Reduce_scatter_block", [&] {
    return MPI_Reduce_scatter_block(send.data(), receive.data(), count_of(receive), MPI_FLOAT,
                                    MPI_SUM, comm(handle_));
  });
}

void PlainMpi::all_gather(std::span<const float> send, std::span<float> receive) const {
  wait_in(*book_, "MPI_Allgather", [&] {
    return MPI_Allgather(send.data(), count_of(send), MPI_FLOAT, receive.data(), count_of(send),
                         MPI_FLOAT, comm(handle_));
  });
}

void PlainMpi::alltoall(std::span<const float> send, std::span<float> receive) const {
  const int count = count_of(send) / ranks_;
  wait_in(*book_, "MPI_Alltoall", [&] {
    return MPI_Alltoall(send.data(), count, MPI_FLOAT, receive.data(), count, MPI_FLOAT,
                        comm(handle_));
  });
}

void PlainMpi::broadcast(std::span<float> data) const {
  wait_in(*book_, "MPI_Bcast",
          [&] { return MPI_Bcast(data.data(), count_of(data), MPI_FLOAT, 0, comm(handle_)); });
}

void PlainMpi::halo(std::span<const float> send, std::span<float> receive) const {
  constexpr int kTag = 1;
  const CallLock lock = book_->lock();
  const int before = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL;
  const int after = rank_ + 1 < ranks_ ? rank_ + 1 : MPI_PROC_NULL;
  const int half = count_of(send) / 2;
  std::array<MPI_Request, 4> requests{};
  check(MPI_Irecv(receive.data(), half, MPI_FLOAT, before, kTag, comm(handle_), &requests[0]),
        "MPI_Irecv");
  check(MPI_Irecv(receive.data() + half, half, MPI_FLOAT, after, kTag, comm(handle_), &requests[1]),
        "MPI_Irecv");
  check(MPI_Isend(send.data(), half, MPI_FLOAT, before, kTag, comm(handle_), &requests[2]),
        "MPI_Isend");
  check(MPI_Isend(send.data() + half, half, MPI_FLOAT, after, kTag, comm(handle_), &requests[3]),
        "MPI_Isend");
  wait_in(*book_, "MPI_Waitall", [&] {
    return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  });
}

}  // namespace runner
