// Finds the overlaps of shares, packs them by receiver, and adds or copies what arrives.
#include "workloads/parallel/split_layers/redistribution.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "workloads/parallel/transfer.h"

namespace parallel {
namespace {

constexpr auto kElementBytes = static_cast<std::int64_t>(sizeof(float));

Share common(const Share& a, const Share& b) {
  return {overlap(a.samples, b.samples), overlap(a.features, b.features)};
}

/// A portion as rows of a share: one for each sample.
struct Rows {
  std::int64_t first = 0, stride = 0, length = 0, count = 0;
  Rows(const Share& portion, const Share& share)
      : first((portion.samples.begin - share.samples.begin) * share.features.count() +
              portion.features.begin - share.features.begin),
        stride(share.features.count()),
        length(portion.features.count()),
        count(portion.samples.count()) {}
  /// Rows one behind the other.
  explicit Rows(const Share& portion)
      : stride(portion.features.count()), length(stride), count(portion.samples.count()) {}
};

/// Calls use(row in `from`, row in `to`, length) for rows that correspond, on all threads.
template <class Use>
void for_each_row(const float* from, const Rows& in_from, float* to, const Rows& in_to,
                  const Use& use) {
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < in_from.count; ++row) {
    use(from + in_from.first + row * in_from.stride, to + in_to.first + row * in_to.stride,
        in_from.length);
  }
}

void copy_rows(const float* from, const Rows& in_from, float* to, const Rows& in_to) {
  for_each_row(from, in_from, to, in_to, [](const float* row, float* into, std::int64_t length) {
    std::copy_n(row, length, into);
  });
}

void add_rows(const float* from, const Rows& in_from, float* to, const Rows& in_to) {
  for_each_row(from, in_from, to, in_to, [](const float* row, float* into, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) into[i] += row[i];
  });
}

std::int64_t floats_in(const std::vector<Portion>& portions, int except) {
  std::int64_t floats = 0;
  for (const Portion& portion : portions) {
    if (portion.rank != except) floats += portion.what.count();
  }
  return floats;
}

/// One part for each rank, one behind the other; none for `except`.
runner::RankParts parts_of(const std::vector<Portion>& portions, int ranks, int except) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
  for (const Portion& portion : portions) {
    if (portion.rank == except) continue;
    counts[static_cast<std::size_t>(portion.rank)] = portion.what.count() * kElementBytes;
  }
  return runner::consecutive_parts(std::move(counts));
}

}  // namespace

Holders::Holders(std::span<const Share> shares) {
  const auto key = [](const Share& share) {
    return std::array{share.samples.begin, share.samples.end, share.features.begin,
                      share.features.end};
  };
  std::map<std::array<std::int64_t, 4>, Held> known;  // by samples
  for (int rank = 0; rank < static_cast<int>(shares.size()); ++rank) {
    const Share& share = shares[static_cast<std::size_t>(rank)];
    if (share.count() == 0) continue;
    Held& held = known[key(share)];
    held.share = share;
    held.ranks.push_back(rank);
  }
  for (auto& [of, held] : known) held_.push_back(std::move(held));
}

std::vector<Portion> Holders::portions_for(int rank, const Share& wanted, Sources sources) const {
  std::vector<Portion> portions;
  auto held = std::ranges::partition_point(
      held_, [&](const Held& one) { return one.share.samples.end <= wanted.samples.begin; });
  for (; held != held_.end() && held->share.samples.begin < wanted.samples.end; ++held) {
    const Share what = common(held->share, wanted);
    if (what.count() == 0) continue;
    if (sources == Sources::kAll) {
      for (const int source : held->ranks) portions.push_back({source, what});
      continue;
    }
    const bool has_own = std::ranges::find(held->ranks, rank) != held->ranks.end();
    const std::size_t any = static_cast<std::size_t>(rank) % held->ranks.size();
    portions.push_back({has_own ? rank : held->ranks[any], what});
  }
  std::ranges::sort(portions, {}, &Portion::rank);
  return portions;
}

std::int64_t bytes_between(std::span<const Share> from, std::span<const Share> wanted,
                           Sources sources) {
  const Holders holders(from);
  std::int64_t floats = 0;
  for (int rank = 0; rank < static_cast<int>(wanted.size()); ++rank) {
    floats += floats_in(holders.portions_for(rank, wanted[static_cast<std::size_t>(rank)], sources),
                        rank);
  }
  return floats * kElementBytes;
}

Redistribution::Redistribution(const runner::Communicator& world, telemetry::Telemetry& telemetry,
                               const char* name, std::span<const Share> from,
                               std::span<const Share> wanted, Sources sources)
    : world_(world),
      telemetry_(telemetry),
      name_(name),
      from_(from[static_cast<std::size_t>(world.rank())]),
      wanted_(wanted[static_cast<std::size_t>(world.rank())]),
      sources_(sources) {
  const int me = world.rank(), ranks = world.size();
  const Holders holders(from);
  received_ = holders.portions_for(me, wanted_, sources);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == me) continue;
    for (const Portion& portion :
         holders.portions_for(rank, wanted[static_cast<std::size_t>(rank)], sources)) {
      if (portion.rank == me) sent_.push_back({rank, portion.what});
    }
  }
  is_exchange_ = bytes_between(from, wanted, sources) > 0;
  send_parts_ = parts_of(sent_, ranks, me);
  receive_parts_ = parts_of(received_, ranks, me);
  send_.resize(static_cast<std::size_t>(floats_in(sent_, me)));
  receive_.resize(static_cast<std::size_t>(floats_in(received_, me)));
}

void Redistribution::exchange(std::span<const float> made) {
  float* to = send_.data();
  for (const Portion& portion : sent_) {
    copy_rows(made.data(), {portion.what, from_}, to, Rows(portion.what));
    to += portion.what.count();
  }
  Transfer transfer(telemetry_);
  transfer.add(name_,
               world_.start_alltoall(std::as_bytes(std::span(send_)), send_parts_,
                                     std::as_writable_bytes(std::span(receive_)), receive_parts_));
  transfer.wait_all();
}

void Redistribution::run(std::span<const float> made, std::span<float> wanted) {
  std::optional<telemetry::Scope> scope;  // copies alone are no exchange
  if (is_exchange_) {
    scope.emplace(telemetry_, telemetry::Subsystem::kExchange);
    exchange(made);
  }
  const bool adds = sources_ == Sources::kAll;
  if (adds) std::ranges::fill(wanted, 0.0F);
  const float* arrived = receive_.data();
  for (const Portion& portion : received_) {
    const bool is_own = portion.rank == world_.rank();
    const float* const from = is_own ? made.data() : arrived;
    const Rows in_from = is_own ? Rows(portion.what, from_) : Rows(portion.what);
    const Rows in_to(portion.what, wanted_);
    if (adds) {
      add_rows(from, in_from, wanted.data(), in_to);
    } else {
      copy_rows(from, in_from, wanted.data(), in_to);
    }
    if (!is_own) arrived += portion.what.count();
  }
}

}  // namespace parallel
