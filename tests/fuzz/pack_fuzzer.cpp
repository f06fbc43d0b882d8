// Arbitrary bytes as a pack of a staged set: a DataError, or samples that lie within the pack and
// take all of it. Checksums that no fuzzer can guess are set right first, where the first byte says
// so.
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "runner/base/error.h"
#include "staging/hash.h"
#include "staging/pack_file.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr staging::PackName kName{0x0123456789abcdef, 3};
constexpr std::size_t kTrailer = 64, kWord = 8, kBytesAt = 40, kIndexHashAt = 48, kOwnHashAt = 56;
constexpr std::uint8_t kFixIndex = 1, kFixTrailer = 2;

void put_hash(std::span<const std::byte> of, std::byte* at) {
  const std::uint64_t hash = staging::hash_of(of);
  std::memcpy(at, &hash, kWord);
}

void fix_checksums(std::vector<std::byte>& image, std::uint8_t which) {
  if (image.size() < kTrailer) return;
  std::byte* const trailer = image.data() + image.size() - kTrailer;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, trailer + kBytesAt, kWord);
  if ((which & kFixIndex) != 0 && bytes <= image.size() - kTrailer) {
    put_hash(std::span(image.data() + bytes, trailer), trailer + kIndexHashAt);
  }
  if ((which & kFixTrailer) != 0) {
    put_hash(std::span(trailer, kOwnHashAt), trailer + kOwnHashAt);
  }
}

bool is_whole(const std::vector<std::byte>& image) {
  try {
    staging::check_pack(image, kName, "image");
    return true;
  } catch (const base::DataError&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto given = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> image(given.begin(), given.end());
  fix_checksums(image, data[0]);
  const fuzz::MemoryFile memory(reinterpret_cast<const std::uint8_t*>(image.data()), image.size());
  const bool all_is_well = is_whole(image);
  try {
    const dataset::File file(memory.path());
    const staging::PackFacts facts = staging::check_trailer(file, kName);
    const staging::PackIndex index = staging::read_pack_index(file, kName);
    fuzz::require(std::ssize(index.places) == facts.samples && index.first == facts.first);
    std::int64_t sum = 0;
    for (const staging::SamplePlace& place : index.places) {
      fuzz::require(std::int64_t{place.offset} + place.size <= facts.bytes);
      sum += place.size;
    }
    fuzz::require(sum == facts.bytes && facts.bytes < file.size());
  } catch (const base::DataError&) {
    fuzz::require(!all_is_well);
  }
  return 0;
}
