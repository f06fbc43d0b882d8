// Arbitrary bytes as a sample of the CosmoFlow benchmark: a DataError or counts in range, never a
// crash. Adds checksums, which no fuzzer would guess, and skips HDF5, whose library crashes.
#include <algorithm>
#include <vector>

#include "runner/base/error.h"
#include "staging/dataset/example.h"
#include "staging/dataset/expand.h"
#include "staging/dataset/tfrecord.h"
#include "staging/dataset/universe.h"
#include "tests/fuzz/memory_file.h"

namespace {

using Bytes = std::span<const std::byte>;

constexpr dataset::UniverseShape kShape{{2, 2, 2}, 2};
constexpr std::int64_t kMostBytes = 1 << 20;

template <class Call>
void try_to(const Call& call) {
  try {
    call();
  } catch (const base::DataError&) {
  }
}

void decode(Bytes bytes) {
  const dataset::Universe whole = dataset::decode_universe(bytes, kShape, "fuzz");
  fuzz::require(whole.counts.size() == 16);
  fuzz::require(
      std::all_of(whole.counts.begin(), whole.counts.end(), [](auto c) { return c >= 0; }));
  const dataset::UniverseRegion region{{1, 0, 1}, {1, 2, 1}};
  const auto part = dataset::decode_universe_region(bytes, kShape, region, "fuzz");
  fuzz::require(part.counts.size() == 4 && part.targets == whole.targets);
}

void walk_records(Bytes bytes) {
  dataset::RecordReader reader(bytes, "fuzz");
  for (auto data = reader.next(); data; data = reader.next()) {
    fuzz::require(data->data() >= bytes.data() &&
                  data->data() + data->size() <= bytes.data() + bytes.size());
  }
}

void parse_twice(Bytes bytes) {
  const dataset::Example example = dataset::parse_example(bytes, "fuzz");
  const std::vector<std::byte> again = dataset::serialise_example(example);
  fuzz::require(dataset::parse_example(again, "fuzz").size() == example.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  try_to([&] { walk_records(bytes); });
  try_to([&] { parse_twice(bytes); });
  try_to([&] {
    fuzz::require(dataset::expand(bytes, kMostBytes, "fuzz").size() <= std::size_t{kMostBytes});
  });
  try_to([&] {
    const auto stated = dataset::stated_bytes(bytes, kMostBytes);
    std::vector<std::byte> content(static_cast<std::size_t>(stated.value_or(8)));
    dataset::expand_into(bytes, content, "fuzz");
  });
  if (size < 4 || data[0] != 0x89) try_to([&] { decode(bytes); });
  std::vector<std::byte> framed;
  dataset::append_record(framed, bytes);
  try_to([&] { decode(framed); });
  return 0;
}
