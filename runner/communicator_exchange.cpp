// Calls in which each rank passes a part of a size of its own: gather, scatter, all-to-all. Sizes
// beyond MPI's int are expressed in larger datatypes; arguments that MPI reads asynchronously are
// kept until the exchange ends.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "runner/base/ceil_div.h"
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

void Communicator::State::allgather(std::span<const double> mine, std::span<double> all,
                                    std::span<const int> counts) const {
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::size_t> places(ranks);
  if (counts.size() == ranks) {
    std::transform_exclusive_scan(counts.begin(), counts.end(), places.begin(), std::size_t{0},
                                  std::plus<>(), [](int n) { return static_cast<std::size_t>(n); });
  }
  if (counts.size() != ranks ||
      mine.size() != static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]) ||
      all.size() != places.back() + static_cast<std::size_t>(counts.back())) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("allgather: {} counts for {} ranks, {} of mine into {}",
                                  counts.size(), ranks, mine.size(), all.size()));
  }
  if (all.size() <= kGatherPiece) {
    if (book->is_noting()) {
      note([this, of_each = std::vector<int>(counts.begin(), counts.end()), in_all = all.size()] {
        const auto of_mine = static_cast<std::size_t>(of_each[static_cast<std::size_t>(rank)]);
        std::vector<double> other(in_all);
        allgather(std::vector<double>(of_mine), other, of_each);
      });
    }
    const auto call = blocking_call("MPI_Allgatherv", mine.size_bytes());
    const std::vector<int> starts(places.begin(), places.end());
    check(MPI_Allgatherv(mine.data(), base::narrow<int>(mine.size()), MPI_DOUBLE, all.data(),
                         counts.data(), starts.data(), MPI_DOUBLE, comm),
          "MPI_Allgatherv");
    return;
  }
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<std::ptrdiff_t>(places[static_cast<std::size_t>(rank)]));
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto part = all.subspan(places[r], static_cast<std::size_t>(counts[r]));
    broadcast(std::as_writable_bytes(part), static_cast<int>(r));
  }
}

void Communicator::allgather(std::span<const double> mine, std::span<double> all,
                             std::span<const int> counts) const {
  state_->allgather(mine, all, counts);
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

std::vector<std::int64_t> Communicator::State::allgather(std::span<const std::int64_t> mine) const {
  note([this, of_each = mine.size()] {
    static_cast<void>(allgather(std::vector<std::int64_t>(of_each)));
  });
  const auto call = blocking_call("MPI_Allgather", mine.size_bytes());
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(size));
  const int count = base::narrow<int>(mine.size());
  check(MPI_Allgather(mine.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, comm),
        "MPI_Allgather");
  return all;
}
std::vector<std::int64_t> Communicator::allgather(std::span<const std::int64_t> mine) const {
  return state_->allgather(mine);
}

RankParts consecutive_parts(std::vector<std::int64_t> counts) {
  RankParts parts{std::move(counts), {}};
  parts.places.resize(parts.counts.size());
  std::exclusive_scan(parts.counts.begin(), parts.counts.end(), parts.places.begin(),
                      std::int64_t{0});
  return parts;
}

RankParts same_part(int ranks, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(ranks);
  return {std::vector<std::int64_t>(size, bytes), std::vector<std::int64_t>(size, 0)};
}

namespace {

/// Largest count of single bytes that fits MPI's int.
constexpr std::int64_t kMostOfABuffer = std::numeric_limits<int>::max();
/// Largest unit in bytes; its size is an int, too.
constexpr std::int64_t kLargestUnit = std::int64_t{1} << 30;

void require_parts(const char* call, const RankParts& parts, std::size_t bytes, int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  bool fit = parts.counts.size() == size && parts.places.size() == size;
  for (std::size_t r = 0; fit && r < size; ++r) {
    const std::int64_t count = parts.counts[r], place = parts.places[r];
    fit = count == 0 || (count > 0 && place >= 0 && std::cmp_less_equal(count, bytes) &&
                         std::cmp_less_equal(place, bytes - static_cast<std::size_t>(count)));
  }
  if (!fit) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("{}: parts of {} ranks do not fit {} bytes for {} ranks", call,
                                  parts.counts.size(), bytes, ranks));
  }
}

/// Leaves out the part of rank `own`.
MpiParts in_units(const RankParts& parts, int own) {
  std::uint64_t bits = 0;
  std::int64_t largest = 0;
  for (std::size_t r = 0; r < parts.counts.size(); ++r) {
    if (std::cmp_equal(r, own) || parts.counts[r] == 0) continue;
    bits |= static_cast<std::uint64_t>(parts.counts[r] | parts.places[r]);
    largest = std::max({largest, parts.counts[r], parts.places[r]});
  }
  MpiParts units;
  std::int64_t unit = 1;
  if (largest > kMostOfABuffer) {
    unit = std::min(kLargestUnit, std::int64_t{1} << std::countr_zero(bits));
    check(MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &units.type),
          "MPI_Type_contiguous");
    units.own_type = base::UniqueHandle<DatatypeTraits>(units.type);
    check(MPI_Type_commit(&units.type), "MPI_Type_commit");
  }
  for (std::size_t r = 0; r < parts.counts.size(); ++r) {
    const bool takes_part = !std::cmp_equal(r, own) && parts.counts[r] > 0;
    units.counts.push_back(takes_part ? base::narrow<int>(parts.counts[r] / unit) : 0);
    units.places.push_back(takes_part ? base::narrow<int>(parts.places[r] / unit) : 0);
  }
  return units;
}

/// One part of `bytes`, in units as in in_units().
MpiParts one_part(std::size_t bytes) {
  return in_units({{static_cast<std::int64_t>(bytes)}, {0}}, -1);
}

SentVolume sent_to_others(const RankParts& parts, int own) {
  SentVolume sent;
  for (std::size_t r = 0; r < parts.counts.size(); ++r) {
    if (std::cmp_equal(r, own) || parts.counts[r] == 0) continue;
    sent += {parts.counts[r], 1};
  }
  return sent;
}

/// `bytes` in messages of at most `most`.
SentVolume sent_in_pieces(std::size_t bytes, std::size_t most) {
  return {static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(base::ceil_div(bytes, most))};
}

}  // namespace

Pending Communicator::start_alltoall(std::span<const std::byte> send, const RankParts& sent,
                                     std::span<std::byte> receive,
                                     const RankParts& received) const {
  constexpr const char* kCall = "MPI_Ialltoallv";
  const int own = state_->rank;
  require_parts(kCall, sent, send.size(), state_->size);
  require_parts(kCall, received, receive.size(), state_->size);
  const auto self = static_cast<std::size_t>(own);
  if (sent.counts[self] != received.counts[self]) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("{}: a rank gives itself {} bytes and takes {}", kCall,
                                  sent.counts[self], received.counts[self]));
  }
  if (sent.counts[self] > 0) {
    std::memcpy(receive.data() + received.places[self], send.data() + sent.places[self],
                static_cast<std::size_t>(sent.counts[self]));
  }
  if (state_->size == 1) return {};
  const CallLock lock = state_->book->lock();
  Pending pending = state_->pending(sent_to_others(sent, own));
  const MpiParts& out = pending.state_->parts.emplace_back(in_units(sent, own));
  const MpiParts& in = pending.state_->parts.emplace_back(in_units(received, own));
  check(MPI_Ialltoallv(send.data(), out.counts.data(), out.places.data(), out.type, receive.data(),
                       in.counts.data(), in.places.data(), in.type, state_->comm,
                       &pending.state_->operation.requests.emplace_back(MPI_REQUEST_NULL)),
        kCall);
  return pending;
}

Pending Communicator::start_scatter(std::span<const std::byte> send, const RankParts& sent,
                                    std::span<std::byte> mine, int root) const {
  constexpr const char* kCall = "MPI_Iscatterv";
  const bool is_root = state_->rank == root;
  if (is_root) require_parts(kCall, sent, send.size(), state_->size);
  if (state_->size == 1) return {};
  const CallLock lock = state_->book->lock();
  Pending pending = state_->pending(is_root ? sent_to_others(sent, root) : SentVolume());
  const MpiParts& parts =
      pending.state_->parts.emplace_back(is_root ? in_units(sent, root) : one_part(mine.size()));
  MPI_Request* const request = &pending.state_->operation.requests.emplace_back(MPI_REQUEST_NULL);
  check(is_root ? MPI_Iscatterv(send.data(), parts.counts.data(), parts.places.data(), parts.type,
                                MPI_IN_PLACE, 0, MPI_BYTE, root, state_->comm, request)
                : MPI_Iscatterv(nullptr, nullptr, nullptr, MPI_BYTE, mine.data(),
                                parts.counts.front(), parts.type, root, state_->comm, request),
        kCall);
  return pending;
}

Pending Communicator::start_gather(std::span<const std::byte> mine, std::span<std::byte> receive,
                                   const RankParts& received, int root) const {
  constexpr const char* kCall = "MPI_Igatherv";
  const bool is_root = state_->rank == root;
  if (is_root) require_parts(kCall, received, receive.size(), state_->size);
  if (state_->size == 1) return {};
  const CallLock lock = state_->book->lock();
  Pending pending =
      state_->pending(is_root ? SentVolume() : sent_in_pieces(mine.size(), kLargestUnit));
  const MpiParts& parts = pending.state_->parts.emplace_back(is_root ? in_units(received, root)
                                                                     : one_part(mine.size()));
  MPI_Request* const request = &pending.state_->operation.requests.emplace_back(MPI_REQUEST_NULL);
  check(is_root ? MPI_Igatherv(MPI_IN_PLACE, 0, MPI_BYTE, receive.data(), parts.counts.data(),
                               parts.places.data(), parts.type, root, state_->comm, request)
                : MPI_Igatherv(mine.data(), parts.counts.front(), parts.type, nullptr, nullptr,
                               nullptr, MPI_BYTE, root, state_->comm, request),
        kCall);
  return pending;
}

Pending Communicator::start_shift(std::span<const std::byte> send, int to,
                                  std::span<std::byte> receive, int from) const {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // fills a link of 1 Gbit/s
  constexpr int kTag = 1;
  if (to == state_->rank || from == state_->rank) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("shift: rank {} sends to {} and receives from {}: expected "
                                  "other ranks",
                                  state_->rank, to, from));
  }
  const CallLock lock = state_->book->lock();
  Pending pending = state_->pending(sent_in_pieces(send.size(), kPieceBytes));
  std::vector<MPI_Request>& requests = pending.state_->operation.requests;
  for (std::size_t at = 0; at < receive.size(); at += kPieceBytes) {
    const auto piece = receive.subspan(at, std::min(kPieceBytes, receive.size() - at));
    check(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, from, kTag,
                    state_->comm, &requests.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Irecv");
  }
  for (std::size_t at = 0; at < send.size(); at += kPieceBytes) {
    const auto piece = send.subspan(at, std::min(kPieceBytes, send.size() - at));
    check(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to, kTag, state_->comm,
                    &requests.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend");
  }
  return pending;
}

}  // namespace runner
