// Arbitrary bytes as an archive of images: a DataError or samples that lie within the file, never a
// crash. The amount of decoded data is limited, to keep runs fast.
#include <algorithm>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/open.h"
#include "staging/dataset/tar.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr std::int64_t kDecodedSamples = 4;
constexpr int kLargestSide = 256;

void walk(const dataset::File& file) {
  dataset::TarWalker walker(file, "fuzz.tar", 0, file.size());
  for (dataset::TarMember member; walker.next(member);) {
    fuzz::require(member.size >= 0 && member.header_offset >= 0);
    fuzz::require(member.data_offset > member.header_offset);
    fuzz::require(member.data_offset + member.size <= file.size());
  }
}

void read_samples(const std::string& path) {
  const auto samples = dataset::open_dataset(path);
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < std::min(samples->size(), kDecodedSamples); ++i) {
    samples->read(i, bytes);
    fuzz::require(static_cast<std::int64_t>(bytes.size()) == samples->bytes(i));
    const dataset::Image header = dataset::decode_image_header(bytes, samples->name(i));
    if (std::max(header.height, header.width) > kLargestSide) continue;
    const dataset::Image image = dataset::decode_image(bytes, samples->name(i));
    fuzz::require(image.height == header.height && image.width == header.width);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile memory(data, size);
  try {
    const dataset::File file(memory.path());
    walk(file);
    read_samples(memory.path());
  } catch (const base::DataError&) {
  }
  return 0;
}
