// Arbitrary bytes as the manifest of a staged set: a DataError, or parts within the set's folder
// whose sizes add up.
#include <cstdint>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "staging/manifest.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/memory_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFolder folder;
  folder.write(staging::kManifestFile, std::string_view(reinterpret_cast<const char*>(data), size));
  try {
    const staging::Manifest manifest = staging::read_manifest(folder.path());
    std::int64_t samples = 0, bytes = 0;
    for (const staging::PackedPart& part : manifest.parts) {
      for (const std::string& name : {part.file, part.index_file}) {
        fuzz::require(!name.empty() && name[0] != '.' && name.find('/') == std::string::npos);
      }
      fuzz::require(part.samples >= 0 && part.bytes >= 0);
      samples += part.samples;
      bytes += part.bytes;
    }
    fuzz::require(samples == manifest.samples && bytes == manifest.bytes);
  } catch (const base::DataError&) {
  }
  return 0;
}
