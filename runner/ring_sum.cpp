// A sum over ranks that goes round a ring.
#include "runner/ring_sum.h"

#include <algorithm>

#include "runner/base/narrow.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

/// Chunk `number` of `floats` elements, counted round the ring.
std::span<float> chunk_of(std::span<float> data, int number, int ranks) {
  const auto index = static_cast<std::size_t>((number % ranks + ranks) % ranks);
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t begin = data.size() / parts * index + std::min(data.size() % parts, index);
  const std::size_t more = index < data.size() % parts ? 1 : 0;
  return data.subspan(begin, data.size() / parts + more);
}

}  // namespace

std::size_t RingSum::bytes_sent(std::size_t floats, int rank, int ranks) {
  const std::span<float> all(static_cast<float*>(nullptr), floats);
  std::size_t sent = 0;
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    sent += chunk_of(all, rank - step, ranks).size_bytes();
  }
  return sent;
}

RingSum::RingSum(std::span<float> data, MPI_Comm comm, int tag)
    : data_(data), comm_(comm), tag_(tag) {
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
  if (is_done()) return;
  receive(0);
  if (last_step() > 1) receive(1);
  send(0);
}

std::span<float> RingSum::chunk(int number) const { return chunk_of(data_, number, ranks_); }

void RingSum::receive(int step) {
  const auto slot = static_cast<std::size_t>(step % 2);
  std::span<float> to = arriving(step);
  if (step < ranks_ - 1) {
    arrived_[slot].resize(to.size());
    to = arrived_[slot];
  }
  check(MPI_Irecv(to.data(), base::narrow<int>(to.size()), MPI_FLOAT, (rank_ + ranks_ - 1) % ranks_,
                  tag_, comm_, &receiving_[slot]),
        "MPI_Irecv");
}

void RingSum::send(int step) {
  const std::span<float> from = chunk(rank_ - step);
  check(MPI_Isend(from.data(), base::narrow<int>(from.size()), MPI_FLOAT, (rank_ + 1) % ranks_,
                  tag_, comm_, &sending_),
        "MPI_Isend");
}

bool RingSum::go_on() {
  while (!is_done()) {
    const auto slot = static_cast<std::size_t>(step_ % 2);
    int has_arrived = 0, is_sent = 0;
    check(MPI_Test(&receiving_[slot], &has_arrived, MPI_STATUS_IGNORE), "MPI_Test");
    check(MPI_Test(&sending_, &is_sent, MPI_STATUS_IGNORE), "MPI_Test");
    if (has_arrived == 0 || is_sent == 0) return false;
    if (step_ < ranks_ - 1) {
      const std::span<float> sum = arriving(step_);
      const float* const more = arrived_[slot].data();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    }
    ++step_;
    if (!is_done()) send(step_);
    if (step_ + 1 < last_step()) receive(step_ + 1);
  }
  return true;
}

}  // namespace runner
