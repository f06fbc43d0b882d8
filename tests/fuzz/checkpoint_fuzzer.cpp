// Arbitrary bytes as the header and the record of a checkpoint: a DataError or places within the
// file, never a crash. The checksum is added, as no fuzzer would guess it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/checkpoint_record.h"
#include "staging/checkpoint_header.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr std::int64_t kFileBytes = 5000;

void read_header(const std::string& text) {
  try {
    const auto header = staging::parse_header(text, kFileBytes, "fuzz.h5");
    std::int64_t covered = header.block_bytes;
    for (const staging::CheckpointArray& array : header.arrays) {
      fuzz::require(array.offset >= header.block_bytes && !array.shape.empty());
      fuzz::require(array.offset + array.total_bytes() <= kFileBytes);
      covered += array.total_bytes();
    }
    for (const staging::FramePart& part : staging::frame_of(header)) {
      fuzz::require(part.bytes > 0 && part.offset + part.bytes <= kFileBytes);
      covered += part.bytes;
    }
    fuzz::require(covered == kFileBytes);  // every byte belongs to exactly one hash
    (void)runner::parse_record(header.about, "fuzz.h5");
  } catch (const base::DataError&) {
  }
}

void read_record(const std::string& text) {
  try {
    const auto record = runner::parse_record(text, "fuzz.h5");
    const auto again = runner::parse_record(runner::to_text(record), "fuzz.h5");
    fuzz::require(again.config == record.config);
    fuzz::require(again.position.steps_done == record.position.steps_done);
  } catch (const base::DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_header(text);
  read_header(staging::header_line(text) + text);
  read_record(text);
  return 0;
}
