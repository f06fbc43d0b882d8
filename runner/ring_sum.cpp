// A sum over ranks that goes round a ring.
#include "runner/ring_sum.h"

#include <algorithm>

#include "runner/base/narrow.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

/// Where chunk `number`, counted round the ring, is among `floats` elements.
struct Chunk {
  std::size_t begin = 0, count = 0;
};
Chunk chunk_of(std::size_t floats, int number, int ranks) {
  const auto index = static_cast<std::size_t>((number % ranks + ranks) % ranks);
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t each = floats / parts, longer = floats % parts;
  return {each * index + std::min(longer, index), each + (index < longer ? 1 : 0)};
}

}  // namespace

std::size_t RingSum::bytes_sent(std::size_t floats, int rank, int ranks) {
  std::size_t sent = 0;
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    sent += chunk_of(floats, rank - step, ranks).count * sizeof(float);
  }
  return sent;
}

RingSum::RingSum(std::span<float> data, MPI_Comm comm, int tag)
    : data_(data), comm_(comm), tag_(tag) {
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
  if (is_done()) return;
  receive(0);
  if (is_ahead()) receive(1);
  send(0);
}

std::span<float> RingSum::chunk(int number) const {
  const Chunk found = chunk_of(data_.size(), number, ranks_);
  return data_.subspan(found.begin, found.count);
}

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
    const int next = is_ahead() ? step_ + 1 : step_;
    if (next < last_step()) receive(next);
    if (!is_done()) send(step_);
  }
  return true;
}

}  // namespace runner
