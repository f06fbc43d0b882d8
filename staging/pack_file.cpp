// A pack as bytes: samples, their places, a trailer.
#include "staging/pack_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "runner/base/error.h"
#include "staging/dataset/expand.h"
#include "staging/hash.h"

namespace staging {
namespace {

constexpr std::array<char, 8> kPackMagic = {'T', 'M', 'P', 'A', 'C', 'K', '0', '2'};

struct PackTrailer {
  std::array<char, 8> magic = kPackMagic;
  PackName name;
  std::int64_t first = 0, samples = 0;
  std::int64_t bytes = 0;  ///< of the samples
  std::uint64_t index_hash = 0, own_hash = 0;
};
constexpr std::int64_t kTrailerBytes = 64, kPlaceBytes = 16;
static_assert(sizeof(PackTrailer) == kTrailerBytes && sizeof(SamplePlace) == kPlaceBytes);
static_assert(std::is_trivially_copyable_v<PackTrailer> &&
              std::is_trivially_copyable_v<SamplePlace>);
constexpr std::int64_t kMostPackBytes = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostPackSamples = kMostPackBytes / kPlaceBytes;

std::uint64_t hash_of_trailer(const PackTrailer& trailer) {
  return hash_of(std::as_bytes(std::span(&trailer, 1)).first(offsetof(PackTrailer, own_hash)));
}

[[noreturn]] void refuse_pack(const std::string& where, PackName name, const std::string& problem) {
  throw base::DataError(fmt::format("{}: pack {}: {}", where, name.number, problem));
}

/// `size`: of the file or image that ends with the trailer. Its counts are trusted with memory.
void require_trailer(const PackTrailer& trailer, std::int64_t size, PackName name,
                     const std::string& where) {
  if (trailer.magic != kPackMagic) {
    refuse_pack(where, name, "expected a trailer, found other bytes: not a pack, or a part of one");
  }
  if (hash_of_trailer(trailer) != trailer.own_hash) {
    refuse_pack(where, name, "its trailer differs from its checksum (XXH3)");
  }
  if (trailer.name.set != name.set || trailer.name.number != name.number) {
    refuse_pack(
        where, name,
        fmt::format("expected the trailer of set {:016x}, found that of pack {} of set {:016x}",
                    name.set, trailer.name.number, trailer.name.set));
  }
  const bool is_possible = trailer.first >= 0 && trailer.samples > 0 && trailer.bytes >= 0 &&
                           trailer.bytes <= kMostPackBytes && trailer.samples <= kMostPackSamples;
  if (!is_possible || trailer.bytes + trailer.samples * kPlaceBytes + kTrailerBytes != size) {
    refuse_pack(
        where, name,
        fmt::format("expected {} bytes of {} samples, found {} bytes with places and trailer",
                    trailer.bytes, trailer.samples, size));
  }
}

/// Samples lie within the pack and take all of its bytes.
void require_places(const std::vector<SamplePlace>& places, const PackTrailer& trailer,
                    const std::string& where) {
  const auto bytes = std::as_bytes(std::span(places));
  if (hash_of(bytes) != trailer.index_hash) {
    refuse_pack(where, trailer.name, "the places of its samples differ from their checksum (XXH3)");
  }
  std::int64_t sum = 0;
  for (const SamplePlace& place : places) {
    if (std::int64_t{place.offset} + place.size > trailer.bytes) {
      refuse_pack(
          where, trailer.name,
          fmt::format("expected samples within {} bytes, found one of {} bytes at offset {}",
                      trailer.bytes, place.size, place.offset));
    }
    sum += place.size;
  }
  if (sum != trailer.bytes) {
    refuse_pack(where, trailer.name,
                fmt::format("expected samples of {} bytes in all, found {}", trailer.bytes, sum));
  }
}

PackTrailer read_trailer(const dataset::File& file, PackName name) {
  PackTrailer trailer;
  if (file.size() < kTrailerBytes) {
    refuse_pack(file.path(), name,
                fmt::format("expected at least {} bytes, found {}", kTrailerBytes, file.size()));
  }
  file.read(file.size() - kTrailerBytes, std::as_writable_bytes(std::span(&trailer, 1)));
  require_trailer(trailer, file.size(), name, file.path());
  return trailer;
}

/// Gives samples their room in an image, in the order in which they come.
class Packer {
 public:
  Packer(std::span<std::byte> image, std::int64_t first, std::int64_t samples)
      : image_(image), first_(first), places_(static_cast<std::size_t>(samples)) {}

  /// Empty if there is too little: asked() is then more than the image has.
  std::span<std::byte> room(std::int64_t index, std::int64_t bytes) {
    finish_last();
    asked_ += bytes;
    if (asked_ > std::ssize(image_)) return {};
    last_ = &places_.at(static_cast<std::size_t>(index - first_));
    *last_ = {static_cast<std::uint32_t>(asked_ - bytes), static_cast<std::uint32_t>(bytes), 0};
    return bytes_of(*last_);
  }
  /// Call when the last sample is there.
  void finish_last() {
    if (last_ != nullptr) last_->hash = hash_of(bytes_of(*last_));
    last_ = nullptr;
  }
  /// Bytes that room was asked for so far.
  std::int64_t asked() const { return asked_; }
  const std::vector<SamplePlace>& places() const { return places_; }

 private:
  std::span<std::byte> bytes_of(const SamplePlace& place) const {
    return image_.subspan(place.offset, place.size);
  }

  std::span<std::byte> image_;  ///< room for the samples
  std::int64_t first_, asked_ = 0;
  SamplePlace* last_ = nullptr;  ///< whose bytes come now
  std::vector<SamplePlace> places_;
};

/// Writes places and trailer after the samples.
void close_image(std::span<std::byte> image, std::int64_t first, std::int64_t bytes, PackName name,
                 const std::vector<SamplePlace>& places) {
  const auto index = std::as_bytes(std::span(places));
  PackTrailer trailer;
  trailer.name = name;
  trailer.first = first;
  trailer.samples = std::ssize(places);
  trailer.bytes = bytes;
  trailer.index_hash = hash_of(index);
  trailer.own_hash = hash_of_trailer(trailer);
  std::byte* const end = image.data() + trailer.bytes;
  std::memcpy(end, index.data(), index.size());
  std::memcpy(end + index.size(), &trailer, sizeof(trailer));
}

/// Expands `file` into the first bytes of `room`. Returns their number; 0 if it is not compressed,
/// states nothing, or more than there is room for, or is not what it states.
std::size_t expand_if_stated(std::span<const std::byte> file, std::int64_t most_bytes,
                             std::span<std::byte> room) {
  const auto stated = dataset::stated_bytes(file, std::min(most_bytes, std::ssize(room)));
  if (!stated) return 0;
  const auto bytes = static_cast<std::size_t>(*stated);
  try {
    dataset::expand_into(file, room.first(bytes), "");
    return bytes;
  } catch (const base::DataError&) {
    return 0;
  }
}

/// Names the file that is likely to have changed, the one that was modified last, where samples
/// have files of their own.
[[noreturn]] void refuse_change(const dataset::Dataset& source, std::int64_t first,
                                std::int64_t last, const std::string& found) {
  std::string newest;
  std::int64_t newest_ns = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t index = first; index < last; ++index) {
    const std::string path = source.path(index);
    if (path.empty()) break;
    const std::int64_t mtime_ns = source.stamp(index).mtime_ns;  // throws for one that is gone
    if (mtime_ns <= newest_ns && !newest.empty()) continue;
    newest = path;
    newest_ns = mtime_ns;
  }
  throw base::DataError(
      fmt::format("{}: changed while it was staged: {}{}", source.source(), found,
                  newest.empty() ? "" : fmt::format("; modified last: {}", newest)));
}

}  // namespace

std::uint64_t set_number(const std::string& identity) {
  constexpr std::size_t kDigits = 16;
  constexpr int kHexadecimal = 16;
  std::uint64_t number = 0;
  const char* const begin = identity.data();
  const char* const end = begin + std::min(identity.size(), kDigits);
  const auto [stop, error] = std::from_chars(begin, end, number, kHexadecimal);
  if (identity.size() >= kDigits && error == std::errc() && stop == end) return number;
  throw base::DataError(fmt::format("'{}': expected an identity of hexadecimal digits", identity));
}

std::int64_t image_bytes(const PackList& list, std::int64_t number) {
  const Pack& pack = list[number];
  return pack.bytes + (list.last(number) - pack.first) * kPlaceBytes + kTrailerBytes;
}

std::int64_t stored_bytes(const PackList& list, std::int64_t number) {
  return image_bytes(list, number) + list[number].more_bytes;
}

void check_pack_size(const PackList& list, std::int64_t number, const std::string& source) {
  const Pack& pack = list[number];
  const std::int64_t samples = list.last(number) - pack.first;
  const std::int64_t bytes = pack.bytes + pack.more_bytes;
  if (bytes <= kMostPackBytes && samples <= kMostPackSamples) return;
  throw base::DataError(fmt::format(
      "{}: expected at most {} bytes and {} samples in a pack, found {} and {} in samples {} to {}",
      source, kMostPackBytes, kMostPackSamples, bytes, samples, pack.first, list.last(number) - 1));
}

std::int64_t read_pack(const dataset::Dataset& source, const PackList& list, PackName name,
                       std::span<std::byte> image, const std::function<void()>& at_sample) {
  const Pack& pack = list[name.number];
  const std::int64_t last = list.last(name.number);
  check_pack_size(list, name.number, source.source());
  if (std::ssize(image) != image_bytes(list, name.number)) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("pack {}: expected {} bytes for its image, got {}", name.number,
                                  image_bytes(list, name.number), image.size()));
  }
  std::vector<std::int64_t> indices(static_cast<std::size_t>(last - pack.first));
  std::iota(indices.begin(), indices.end(), pack.first);
  Packer packer(image.first(static_cast<std::size_t>(pack.bytes)), pack.first, last - pack.first);
  const auto require = [&](bool is_as_listed) {
    if (is_as_listed) return;
    refuse_change(
        source, pack.first, last,
        fmt::format("expected {} bytes in samples {} to {}, found {}{}", pack.bytes, pack.first,
                    last - 1, packer.asked() > pack.bytes ? "at least " : "", packer.asked()));
  };
  std::uint64_t stamp = 0;
  const auto room_for = [&](std::int64_t index, const dataset::Dataset::Stamp& found) {
    const std::span<std::byte> room = packer.room(index, found.bytes);
    require(packer.asked() <= pack.bytes);
    stamp += hash_of_stamp(index, found);
    if (at_sample) at_sample();
    return room;
  };
  const std::int64_t reads = source.read_many(indices, room_for);
  packer.finish_last();
  require(packer.asked() == pack.bytes);
  if (stamp != pack.stamp) {
    refuse_change(source, pack.first, last,
                  fmt::format("expected samples {} to {} as they were listed, found other sizes or "
                              "times of modification",
                              pack.first, last - 1));
  }
  close_image(image, pack.first, pack.bytes, name, packer.places());
  return reads;
}

std::int64_t expand_pack(std::span<const std::byte> image, const PackList& list, PackName name,
                         std::int64_t most_bytes, std::span<std::byte> stored) {
  const Pack& pack = list[name.number];
  std::vector<SamplePlace> places(static_cast<std::size_t>(list.last(name.number) - pack.first));
  std::memcpy(places.data(), image.data() + pack.bytes, places.size() * sizeof(SamplePlace));
  auto more_left = static_cast<std::size_t>(pack.more_bytes);
  std::size_t done = 0;
  for (SamplePlace& place : places) {
    const auto file = image.subspan(place.offset, place.size);
    std::size_t bytes =
        expand_if_stated(file, most_bytes, stored.subspan(done, file.size() + more_left));
    if (bytes > 0) {
      more_left -= bytes - file.size();
    } else {
      bytes = file.size();
      std::copy(file.begin(), file.end(), stored.begin() + static_cast<std::ptrdiff_t>(done));
    }
    place = {static_cast<std::uint32_t>(done), static_cast<std::uint32_t>(bytes),
             hash_of(stored.subspan(done, bytes))};
    done += bytes;
  }
  const auto bytes = static_cast<std::int64_t>(done);
  close_image(stored, pack.first, bytes, name, places);
  return bytes + std::ssize(places) * kPlaceBytes + kTrailerBytes;
}

void check_pack(std::span<const std::byte> image, PackName name, const std::string& where) {
  if (std::ssize(image) < kTrailerBytes) {
    refuse_pack(where, name,
                fmt::format("expected at least {} bytes, found {}", kTrailerBytes, image.size()));
  }
  PackTrailer trailer;
  std::memcpy(&trailer, image.last(kTrailerBytes).data(), sizeof(trailer));
  require_trailer(trailer, std::ssize(image), name, where);
  std::vector<SamplePlace> places(static_cast<std::size_t>(trailer.samples));
  std::memcpy(places.data(), image.data() + trailer.bytes, places.size() * sizeof(SamplePlace));
  require_places(places, trailer, where);
  for (std::size_t i = 0; i < places.size(); ++i) {
    check_sample(image.subspan(places[i].offset, places[i].size), places[i],
                 trailer.first + static_cast<std::int64_t>(i), where);
  }
}

void make_blank(std::span<std::byte> image) {
  std::ranges::fill(image.last(kTrailerBytes), std::byte{0});
}

bool is_blank(std::span<const std::byte> image) {
  return std::ranges::all_of(image.last(kTrailerBytes),
                             [](std::byte value) { return value == std::byte{0}; });
}

PackIndex read_pack_index(const dataset::File& file, PackName name) {
  const PackTrailer trailer = read_trailer(file, name);
  PackIndex index{trailer.first, {}};
  index.places.resize(static_cast<std::size_t>(trailer.samples));
  file.read(trailer.bytes, std::as_writable_bytes(std::span(index.places)));
  require_places(index.places, trailer, file.path());
  return index;
}

PackFacts check_trailer(const dataset::File& file, PackName name) {
  const PackTrailer trailer = read_trailer(file, name);
  return {trailer.first, trailer.samples, trailer.bytes, trailer.own_hash};
}

void check_sample(std::span<const std::byte> bytes, const SamplePlace& place, std::int64_t index,
                  const std::string& where) {
  if (bytes.size() == place.size && hash_of(bytes) == place.hash) return;
  throw base::DataError(
      fmt::format("{}: offset {}: {} bytes of sample {} differ from what was staged (XXH3)", where,
                  place.offset, place.size, index));
}

}  // namespace staging
