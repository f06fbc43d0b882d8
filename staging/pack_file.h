// A pack as bytes, the same in memory, on disk and in messages: samples, their places, a trailer.
// Every byte is covered by a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/dataset.h"
#include "staging/dataset/file.h"
#include "staging/pack_list.h"

namespace staging {

/// Where a sample is in its pack.
struct SamplePlace {
  std::uint32_t offset = 0, size = 0;
  std::uint64_t hash = 0;  ///< XXH3, 64 bits
};

/// Which pack of which set: no file is taken for another pack, or for one of other samples.
struct PackName {
  std::uint64_t set = 0;    ///< set_number() of the set's identity
  std::int64_t number = 0;  ///< in its PackList
};

/// The first 64 bits of an identity (PackList::identity()).
std::uint64_t set_number(const std::string& identity);

/// The samples of a pack, in their order in the dataset.
struct PackIndex {
  std::int64_t first = 0;  ///< index of the first sample in the dataset
  std::vector<SamplePlace> places;
};

/// Bytes of a pack on its way, with its places and trailer: samples as their files have them.
std::int64_t image_bytes(const PackList& list, std::int64_t number);
/// The most that it takes in a copy: with Pack::more_bytes.
std::int64_t stored_bytes(const PackList& list, std::int64_t number);

/// Throws DataError, beginning with `source`, for a pack of 4 GiB or more: samples are too large.
void check_pack_size(const PackList& list, std::int64_t number, const std::string& source);

/// Reads the samples of a pack into `image`, of image_bytes(). Calls `at_sample` before each
/// sample, which may throw. Returns the number of reads of the source. Throws DataError if its
/// sizes differ from those of the list. Any thread may call it.
std::int64_t read_pack(const dataset::Dataset& source, const PackList& list, PackName name,
                       std::span<std::byte> image,
                       const std::function<void()>& at_sample = nullptr);

/// Makes of `image`, which read_pack() made, the pack that a copy holds, in `stored`, of
/// stored_bytes(): samples of compressed files are expanded where the files state what they expand
/// to, no more than `most_bytes`, and there is room, for which the plan counts only files whose
/// names say that they may be compressed. What is not as it is stated stays as it is, so that a
/// damaged file is noticed by who reads the sample. Returns the pack's bytes. Any thread may call
/// it.
std::int64_t expand_pack(std::span<const std::byte> image, const PackList& list, PackName name,
                         std::int64_t most_bytes, std::span<std::byte> stored);

/// Checks every byte of an image. Throws DataError beginning with `where`.
void check_pack(std::span<const std::byte> image, PackName name, const std::string& where);

/// Makes of an image, whatever it holds, one that tells who receives it that there is no pack.
void make_blank(std::span<std::byte> image);
bool is_blank(std::span<const std::byte> image);

/// The places of a pack's samples: reads its end only. Throws DataError.
PackIndex read_pack_index(const dataset::File& file, PackName name);

/// What a pack's trailer states.
struct PackFacts {
  std::int64_t first = 0, samples = 0, bytes = 0;
  std::uint64_t hash = 0;  ///< of the trailer, which has the hash of the places, which have those
                           ///< of the samples: of all that is in the pack
};

/// Throws DataError unless the file's size and trailer are those of this pack. Reads the trailer
/// only.
PackFacts check_trailer(const dataset::File& file, PackName name);

/// Throws DataError unless `bytes` is the sample of this place. `where` is the pack's path.
void check_sample(std::span<const std::byte> bytes, const SamplePlace& place, std::int64_t index,
                  const std::string& where);

}  // namespace staging
