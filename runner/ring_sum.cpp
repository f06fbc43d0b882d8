// A sum over ranks that goes round a ring.
#include "runner/ring_sum.h"

#include <cstdint>

#include "runner/base/narrow.h"
#include "runner/base/split_evenly.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

/// Where chunk `number`, counted round the ring, is among `floats` elements.
struct Chunk {
  std::size_t begin = 0, count = 0;
};
Chunk chunk_of(std::size_t floats, int number, int ranks) {
  const auto [begin, end] = base::split_evenly(static_cast<std::int64_t>(floats), ranks,
                                               (number % ranks + ranks) % ranks);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::size_t RingSum::bytes_sent(std::size_t floats, int rank, int ranks) {
  std::size_t sent = 0;
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    sent += chunk_of(floats, rank - step, ranks).count * sizeof(float);
  }
  return sent;
}

RingSum::RingSum(std::span<float> data, MPI_Comm comm, int rank, int ranks, int tag,
                 std::int64_t priority)
    : data_(data), comm_(comm), rank_(rank), ranks_(ranks), tag_(tag), priority_(priority) {}

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
  if (!has_begun_ && !is_done()) {
    receive(0);
    if (is_ahead()) receive(1);
    send(0);
    has_begun_ = true;
  }
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
