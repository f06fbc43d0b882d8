// Calls to which each rank gives a part of its own size: gathering.
// Hides the rounds in which long parts go.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "runner/base/narrow.h"
#include "runner/communicator.h"
#include "runner/communicator_state.h"
#include "runner/mpi_calls.h"

namespace runner {

template <class T>
std::vector<std::vector<T>> Communicator::State::gather(std::span<const T> mine, int root) const {
  const auto call = blocking_call("MPI_Gatherv", mine.size_bytes());
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::int64_t> sizes(ranks);
  const auto my_size = static_cast<std::int64_t>(mine.size());
  check(MPI_Allgather(&my_size, 1, datatype(my_size), sizes.data(), 1, datatype(my_size), comm),
        "MPI_Allgather");
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  const std::size_t part = std::max<std::size_t>(1, kGatherPiece / ranks);
  const auto count_at = [&](std::size_t r, std::size_t first) {
    const auto all = static_cast<std::size_t>(sizes[r]);
    return first < all ? static_cast<int>(std::min(part, all - first)) : 0;
  };

  std::vector<std::vector<T>> collected(rank == root ? ranks : 0);
  std::vector<int> counts(ranks), places(ranks);
  std::vector<T> round;
  for (std::size_t first = 0; first < longest; first += part) {
    for (std::size_t r = 0; r < ranks; ++r) counts[r] = count_at(r, first);
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    if (rank == root) {
      round.resize(static_cast<std::size_t>(places.back()) +
                   static_cast<std::size_t>(counts.back()));
    }
    const int count = counts[static_cast<std::size_t>(rank)];
    const T* from = count > 0 ? mine.data() + first : nullptr;
    check(MPI_Gatherv(from, count, datatype(T{}), round.data(), counts.data(), places.data(),
                      datatype(T{}), root, comm),
          "MPI_Gatherv");
    for (std::size_t r = 0; r < collected.size(); ++r) {
      const auto begin = round.begin() + places[r];
      collected[r].insert(collected[r].end(), begin, begin + counts[r]);
    }
  }
  return collected;
}

namespace {

template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

void Communicator::allgather(std::span<const double> mine, std::span<double> all,
                             std::span<const int> counts) const {
  const auto ranks = static_cast<std::size_t>(state_->size);
  std::vector<std::size_t> places(ranks);
  if (counts.size() == ranks) {
    std::transform_exclusive_scan(counts.begin(), counts.end(), places.begin(), std::size_t{0},
                                  std::plus<>(), [](int n) { return static_cast<std::size_t>(n); });
  }
  if (counts.size() != ranks ||
      mine.size() != static_cast<std::size_t>(counts[static_cast<std::size_t>(rank())]) ||
      all.size() != places.back() + static_cast<std::size_t>(counts.back())) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("allgather: {} counts for {} ranks, {} of mine into {}",
                                  counts.size(), ranks, mine.size(), all.size()));
  }
  if (all.size() <= kGatherPiece) {
    const auto call = state_->blocking_call("MPI_Allgatherv", mine.size_bytes());
    const std::vector<int> starts(places.begin(), places.end());
    check(MPI_Allgatherv(mine.data(), base::narrow<int>(mine.size()), MPI_DOUBLE, all.data(),
                         counts.data(), starts.data(), MPI_DOUBLE, state_->comm),
          "MPI_Allgatherv");
    return;
  }
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<std::ptrdiff_t>(places[static_cast<std::size_t>(rank())]));
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto part = all.subspan(places[r], static_cast<std::size_t>(counts[r]));
    broadcast(std::as_writable_bytes(part), static_cast<int>(r));
  }
}

std::vector<std::string> Communicator::gather(const std::string& text, int root) const {
  std::vector<std::string> texts;
  for (const auto& bytes : state_->gather(std::as_bytes(std::span<const char>(text)), root)) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

std::vector<float> Communicator::gather(std::span<const float> mine, int root) const {
  return joined(state_->gather(mine, root));
}
std::vector<std::int64_t> Communicator::gather(std::span<const std::int64_t> mine, int root) const {
  return joined(state_->gather(mine, root));
}

}  // namespace runner
