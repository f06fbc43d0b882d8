// Arbitrary bytes as the records of a staged set: a DataError, or counts and numbers within their
// bounds.
#include <cstdint>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "staging/set_record.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

namespace {

/// `read`, of which a DataError is accepted.
template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (const base::DataError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::MemoryFolder folder;
  folder.write(staging::kBegunRecord, text);
  folder.write(staging::kPacksRecord, text);
  try_to([&] {
    const staging::SetRecord record = staging::read_record(folder.path());
    fuzz::require(record.packs >= 0 && record.samples >= 0 && record.bytes >= 0);
    fuzz::require(record.identity.find_first_not_of("0123456789abcdef") == std::string::npos);
  });
  try_to([&] { fuzz::require(staging::read_former_record(folder.path()).samples >= 0); });
  try_to([&] {
    staging::SetRecord record;
    record.identity = "0123456789abcdef";
    record.packs = 3;
    std::int64_t least = 0;
    for (const auto& pack : staging::read_pack_records(folder.path(), record)) {
      fuzz::require(pack.number >= least && pack.number < record.packs && pack.bytes >= 0);
      least = pack.number + 1;
    }
  });
  return 0;
}
