// Packed files of samples and their index: the form in which a node keeps what it staged.
// Hides the file formats and checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runner/base/activity.h"
#include "staging/dataset/dataset.h"
#include "staging/manifest.h"

namespace staging {

/// Where one sample lies and what it must hash to.
struct PackedSample {
  std::int64_t index = 0;  ///< in the source dataset
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::uint64_t hash = 0;  ///< XXH3, 64 bits
};

struct PackResult {
  PackedPart part;
  std::int64_t source_reads = 0;
};
/// Copies `indices` of `source` into part `number` in `directory` and reads it back. Throws
/// DataError (source, or what was read back differs), SystemError (writing). `activity` is told of
/// every sample, and where runner::StopSignals are told to end, Error(kStopped) is thrown.
PackResult write_part(const dataset::Dataset& source, const std::vector<std::int64_t>& indices,
                      const std::string& directory, int number, base::Activity& activity);

/// Whether `directory` holds a whole set of this identity: manifest, files of the right sizes, and
/// indices that match their checksums, and no sample of it was found damaged. A set that does not
/// is not an error: it is not trusted.
bool holds_staged_set(const std::string& directory, const std::string& identity);

/// The source's samples, read from the packed files of `directory`. Throws DataError when they are
/// not what the manifest says; a sample that differs also marks the set as damaged.
std::shared_ptr<const dataset::Dataset> open_packed(std::shared_ptr<const dataset::Dataset> source,
                                                    const std::string& directory);

}  // namespace staging
