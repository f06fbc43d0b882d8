// How a dataset is cut into packs.
#include "staging/pack_list.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "runner/agreed_error.h"
#include "runner/base/ceil_div.h"
#include "runner/base/error.h"
#include "runner/base/split_evenly.h"
#include "runner/stop_signals.h"
#include "runner/together.h"
#include "staging/hash.h"
#include "staging/naming_host.h"

namespace staging {
namespace {

/// Samples [first, last); fewer if the process is told to end.
std::vector<ListedSample> examine_samples(const dataset::Dataset& source, std::int64_t first,
                                          std::int64_t last, Compressed compressed,
                                          base::Activity& activity) {
  std::vector<ListedSample> found;
  found.reserve(static_cast<std::size_t>(last - first));
  for (std::int64_t index = first; index < last && !runner::is_told_to_end(); ++index) {
    const bool expand = compressed == Compressed::kExpanded;
    const auto stamp = expand ? source.stamp_to_expand(index) : source.stamp(index);
    if (stamp.bytes < 0) {
      throw base::DataError(fmt::format("{}: expected a size of 0 or more bytes, found {}",
                                        source.name(index), stamp.bytes));
    }
    const std::int64_t more = std::max<std::int64_t>(0, stamp.expanded_bytes - stamp.bytes);
    found.push_back({stamp.bytes, hash_of_stamp(index, stamp), more});
    activity.progress();
  }
  return found;
}

/// Collective. Bytes, as a copy holds them, of the samples of all ranks, and of those of the ranks
/// before this one.
std::pair<std::int64_t, std::int64_t> total_and_before(const std::vector<ListedSample>& mine,
                                                       const runner::Communicator& world) {
  std::int64_t bytes = 0;
  for (const ListedSample& sample : mine) bytes += sample.bytes + sample.more_bytes;
  const std::vector<std::int64_t> all =
      world.allgather(std::span<const std::int64_t>(&bytes, std::size_t{1}));
  std::int64_t total = 0, before = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (std::cmp_less(rank, world.rank())) before += all[rank];
    total += all[rank];
  }
  return {total, before};
}

/// XXH3 with 128 bits, as 32 hexadecimal digits.
std::string hash_text(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

constexpr std::size_t kWords = 5;  ///< 64-bit words of a part in a message

std::vector<std::int64_t> to_words(const std::vector<PackPart>& parts) {
  std::vector<std::int64_t> words;
  words.reserve(parts.size() * kWords);
  for (const auto& [key, part] : parts) {
    words.insert(words.end(), {key, part.first, part.bytes, std::bit_cast<std::int64_t>(part.stamp),
                               part.more_bytes});
  }
  return words;
}

/// Joins parts of one pack, which are neighbours.
std::vector<Pack> packs_from_words(const std::vector<std::int64_t>& words) {
  std::vector<Pack> packs;
  for (std::size_t i = 0; i < words.size(); i += kWords) {
    const Pack part{words[i + 1], words[i + 2], std::bit_cast<std::uint64_t>(words[i + 3]),
                    words[i + 4]};
    if (i > 0 && words[i] == words[i - kWords]) {
      packs.back().bytes += part.bytes;
      packs.back().stamp += part.stamp;
      packs.back().more_bytes += part.more_bytes;
    } else {
      packs.push_back(part);
    }
  }
  return packs;
}

std::vector<Pack> broadcast_packs(const std::vector<Pack>& packs,
                                  const runner::Communicator& world) {
  const std::string bytes = world.broadcast(
      std::string(reinterpret_cast<const char*>(packs.data()), packs.size() * sizeof(Pack)), 0);
  std::vector<Pack> received(bytes.size() / sizeof(Pack));
  if (!received.empty()) std::memcpy(received.data(), bytes.data(), bytes.size());
  return received;
}

}  // namespace

std::uint64_t hash_of_stamp(std::int64_t index, const dataset::Dataset::Stamp& stamp) {
  const std::array<std::int64_t, 4> words = {index, stamp.bytes, stamp.mtime_ns,
                                             std::bit_cast<std::int64_t>(stamp.name_hash)};
  return hash_of(std::as_bytes(std::span(words)));
}

std::int64_t pack_bytes_for(std::int64_t total) {
  constexpr std::int64_t kLeast = 4 << 10, kMost = 32 << 20, kPacks = 64,
                         kMostPacks = std::int64_t{1} << 18;
  std::int64_t bytes = kLeast;
  while (bytes < kMost && bytes < base::ceil_div(total, kPacks)) bytes *= 2;
  while (total / bytes > kMostPacks) bytes *= 2;
  return bytes;
}

PackList::PackList(std::vector<Pack> packs, std::int64_t samples)
    : packs_(std::move(packs)), samples_(samples) {}

std::int64_t PackList::bytes() const {
  std::int64_t sum = 0;
  for (const Pack& pack : packs_) sum += pack.bytes;
  return sum;
}

std::int64_t PackList::copy_bytes() const {
  std::int64_t sum = bytes();
  for (const Pack& pack : packs_) sum += pack.more_bytes;
  return sum;
}

std::int64_t PackList::pack_of(std::int64_t index) const {
  const auto next =
      std::upper_bound(packs_.begin(), packs_.end(), index,
                       [](std::int64_t wanted, const Pack& pack) { return wanted < pack.first; });
  return std::distance(packs_.begin(), next) - 1;
}

std::vector<std::int64_t> PackList::packs_of(const Ranges& ranges) const {
  std::vector<std::int64_t> found;
  for (const auto& [first, last] : merged(ranges)) {
    for (std::int64_t number = pack_of(first); number < count() && (*this)[number].first < last;
         ++number) {
      if (found.empty() || found.back() < number) found.push_back(number);
    }
  }
  return found;
}

std::string PackList::identity(const dataset::Dataset& source) const {
  // What is added for expanded packs leaves the identity of others as it was without any.
  std::vector<std::int64_t> of_packs;
  for (const Pack& pack : packs_) {
    of_packs.insert(of_packs.end(),
                    {pack.first, pack.bytes, std::bit_cast<std::int64_t>(pack.stamp)});
    if (pack.more_bytes > 0) of_packs.push_back(pack.more_bytes);
  }
  std::string text = std::filesystem::absolute(source.source()).lexically_normal().string();
  text += fmt::format("\n{}\n", source.size());
  for (const std::string& name : source.class_names()) text += name + "\n";
  text += hash_text(of_packs.data(), of_packs.size() * sizeof(of_packs[0]));
  return hash_text(text.data(), text.size());
}

std::vector<PackPart> cut(std::span<const ListedSample> samples, std::int64_t first_index,
                          std::int64_t before, std::int64_t pack_bytes) {
  std::vector<PackPart> parts;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t key = before / pack_bytes;
    if (parts.empty() || parts.back().key != key) {
      parts.push_back({key, {first_index + static_cast<std::int64_t>(i), 0, 0}});
    }
    parts.back().part.bytes += samples[i].bytes;
    parts.back().part.stamp += samples[i].stamp;
    parts.back().part.more_bytes += samples[i].more_bytes;
    before += samples[i].bytes + samples[i].more_bytes;
  }
  return parts;
}

PackList list_packs(const dataset::Dataset& source, const runner::Communicator& world,
                    Compressed compressed) {
  const auto [first, last] = base::split_evenly(source.size(), world.size(), world.rank());
  std::vector<ListedSample> mine;
  runner::together(world, [&] {
    mine = naming_host(
        [&] { return examine_samples(source, first, last, compressed, world.activity()); });
  });
  if (world.allreduce_max(std::int64_t{runner::is_told_to_end() ? 1 : 0}) != 0) {
    throw runner::AgreedError(base::ExitCode::kStopped, "staging: stopped by a signal");
  }
  const auto [total, before] = total_and_before(mine, world);
  const std::vector<std::int64_t> words = to_words(cut(mine, first, before, pack_bytes_for(total)));
  const auto all = world.gather(std::span<const std::int64_t>(words), 0);
  return {broadcast_packs(packs_from_words(all), world), source.size()};
}

}  // namespace staging
