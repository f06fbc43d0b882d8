// Finds the overlaps of shares, packs them by receiver, and adds or copies what arrives.
#include "workloads/parallel/split_layers/redistribution.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "workloads/parallel/transfer.h"

namespace parallel {
namespace {

constexpr auto kElementBytes = static_cast<std::int64_t>(sizeof(float));

Share common(const Share& a, const Share& b) {
  return {overlap(a.samples, b.samples), overlap(a.features, b.features)};
}

/// Calls use(first element of a row of `part` within `whole`, row's length).
template <class Use>
void for_each_row(const Share& part, const Share& whole, const Use& use) {
  for (std::int64_t sample = part.samples.begin; sample < part.samples.end; ++sample) {
    use((sample - whole.samples.begin) * whole.features.count() + part.features.begin -
            whole.features.begin,
        part.features.count());
  }
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
  std::map<std::array<std::int64_t, 4>, std::size_t> known;
  for (int rank = 0; rank < static_cast<int>(shares.size()); ++rank) {
    const Share& share = shares[static_cast<std::size_t>(rank)];
    const auto [entry, is_new] = known.emplace(key(share), held_.size());
    if (is_new) held_.push_back({share, {}});
    held_[entry->second].ranks.push_back(rank);
  }
}

std::vector<Portion> Holders::portions_for(int rank, const Share& wanted, Sources sources) const {
  std::vector<Portion> portions;
  for (const Held& held : held_) {
    const Share what = common(held.share, wanted);
    if (what.count() == 0) continue;
    if (sources == Sources::kAll) {
      for (const int source : held.ranks) portions.push_back({source, what});
      continue;
    }
    const bool has_own = std::ranges::find(held.ranks, rank) != held.ranks.end();
    const std::size_t any = static_cast<std::size_t>(rank) % held.ranks.size();
    portions.push_back({has_own ? rank : held.ranks[any], what});
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
  send_parts_ = parts_of(sent_, ranks, me);
  receive_parts_ = parts_of(received_, ranks, me);
  send_.resize(static_cast<std::size_t>(floats_in(sent_, me)));
  receive_.resize(static_cast<std::size_t>(floats_in(received_, me)));
}

void Redistribution::run(std::span<const float> made, std::span<float> wanted) {
  const telemetry::Scope scope(telemetry_, telemetry::Subsystem::kExchange);
  float* to = send_.data();
  for (const Portion& portion : sent_) {
    for_each_row(portion.what, from_, [&](std::int64_t first, std::int64_t count) {
      to = std::copy_n(made.begin() + first, count, to);
    });
  }
  Transfer transfer(telemetry_);
  transfer.add(name_,
               world_.start_alltoall(std::as_bytes(std::span(send_)), send_parts_,
                                     std::as_writable_bytes(std::span(receive_)), receive_parts_));
  transfer.wait_all();
  const bool adds = sources_ == Sources::kAll;
  if (adds) std::ranges::fill(wanted, 0.0F);
  const float* arrived = receive_.data();
  for (const Portion& portion : received_) {
    std::vector<std::int64_t> own;  // first elements of this rank's own rows
    if (portion.rank == world_.rank()) {
      for_each_row(portion.what, from_,
                   [&](std::int64_t first, std::int64_t) { own.push_back(first); });
    }
    std::size_t row = 0;
    for_each_row(portion.what, wanted_, [&](std::int64_t first, std::int64_t count) {
      const float* const values = own.empty() ? arrived : made.data() + own[row++];
      float* const into = wanted.data() + first;
      if (adds) {
        for (std::int64_t i = 0; i < count; ++i) into[i] += values[i];
      } else {
        std::copy_n(values, count, into);
      }
      if (own.empty()) arrived += count;
    });
  }
}

}  // namespace parallel
