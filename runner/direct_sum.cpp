// A sum over ranks in two rounds of messages.
#include "runner/direct_sum.h"

#include <algorithm>
#include <array>

#include "runner/base/narrow.h"
#include "runner/base/split_evenly.h"
#include "runner/mpi_calls.h"

namespace runner {
namespace {

/// Floats added up at a time, which fit the L1 cache.
constexpr std::size_t kBlock = 2048;

std::pair<std::size_t, std::size_t> range_of(std::size_t floats, int rank, int ranks) {
  const auto [begin, end] = base::split_evenly(static_cast<std::int64_t>(floats), ranks, rank);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

}  // namespace

DirectSum::DirectSum(std::span<float> data, MPI_Comm comm, int rank, int ranks, int tag,
                     std::int64_t priority)
    : data_(data),
      comm_(comm),
      rank_(rank),
      ranks_(ranks),
      tag_(tag),
      priority_(priority),
      phase_(ranks > 1 ? Phase::kWaiting : Phase::kDone) {}

std::span<float> DirectSum::part(int rank) const {
  const auto [begin, end] = range_of(data_.size(), rank, ranks_);
  return data_.subspan(begin, end - begin);
}

std::size_t DirectSum::bytes_spreading() const {
  if (phase_ != Phase::kSpreading) return 0;
  return part(rank_).size_bytes() * static_cast<std::size_t>(ranks_ - 1);
}

void DirectSum::send(std::span<const float> from, int to) {
  if (from.empty()) return;
  check(MPI_Isend(from.data(), base::narrow<int>(from.size()), MPI_FLOAT, to, tag_, comm_,
                  &requests_.emplace_back(MPI_REQUEST_NULL)),
        "MPI_Isend");
}

void DirectSum::receive(std::span<float> to, int from) {
  if (to.empty()) return;
  check(MPI_Irecv(to.data(), base::narrow<int>(to.size()), MPI_FLOAT, from, tag_, comm_,
                  &requests_.emplace_back(MPI_REQUEST_NULL)),
        "MPI_Irecv");
}

void DirectSum::collect() {
  const std::size_t own = part(rank_).size();
  const std::size_t floats = own * static_cast<std::size_t>(ranks_ - 1);
  arrived_ = std::make_unique_for_overwrite<float[]>(floats);
  std::span<float> left(arrived_.get(), floats);
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    receive(left.first(own), rank);
    left = left.subspan(own);
  }
  // Each begins with another rank, so that not all send to the same one.
  for (int ahead = 1; ahead < ranks_; ++ahead) {
    const int to = (rank_ + ahead) % ranks_;
    send(part(to), to);
  }
}

void DirectSum::add_up() {
  const std::span<float> own = part(rank_);
  for (std::size_t at = 0; at < own.size(); at += kBlock) {
    const std::size_t count = std::min(kBlock, own.size() - at);
    std::array<float, kBlock> sum;
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto others = static_cast<std::size_t>(rank < rank_ ? rank : rank - 1);
      const float* const values =
          (rank == rank_ ? own.data() : arrived_.get() + others * own.size()) + at;
      if (rank == 0) {
        std::copy_n(values, count, sum.data());
      } else {
        for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
      }
    }
    std::copy_n(sum.data(), count, own.data() + at);
  }
  arrived_.reset();
}

void DirectSum::spread() {
  for (int ahead = 1; ahead < ranks_; ++ahead) {
    const int to = (rank_ + ahead) % ranks_, from = (rank_ + ranks_ - ahead) % ranks_;
    receive(part(from), from);
    send(part(rank_), to);
  }
}

bool DirectSum::have_arrived() {
  int have = 0;
  check(MPI_Testall(base::narrow<int>(requests_.size()), requests_.data(), &have,
                    MPI_STATUSES_IGNORE),
        "MPI_Testall");
  if (have != 0) requests_.clear();
  return have != 0;
}

bool DirectSum::go_on() {
  if (phase_ == Phase::kWaiting) {
    collect();
    phase_ = Phase::kCollecting;
  }
  if (phase_ == Phase::kCollecting && have_arrived()) {
    add_up();
    spread();
    phase_ = Phase::kSpreading;
  }
  if (phase_ == Phase::kSpreading && have_arrived()) phase_ = Phase::kDone;
  return is_done();
}

}  // namespace runner
