// Packed files of samples with an index: the format of a node's staged samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runner/base/activity.h"
#include "staging/dataset/dataset.h"
#include "staging/manifest.h"

namespace staging {

/// The location and hash of one sample.
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
/// Copies `indices` of `source` into part `number` in `directory` and reads the part back. Throws
/// DataError when the source is damaged or the part differs when read back, and SystemError when it
/// cannot be written. Reports progress to `activity` after every sample, and throws Error(kStopped)
/// when a signal has told the process to end (runner::StopSignals).
PackResult write_part(const dataset::Dataset& source, const std::vector<std::int64_t>& indices,
                      const std::string& directory, int number, base::Activity& activity);

/// Whether `directory`, which only this user can change, holds a complete set of this identity: the
/// manifest, files of the right sizes, indexes that match their checksums, and no sample that was
/// found damaged.
bool holds_staged_set(const std::string& directory, const std::string& identity);

/// Reads the set in `directory` in full. Returns what is damaged, with path and offset, and marks
/// the set; "" if all samples match their checksums. Reports progress to `activity`, and throws
/// Error(kStopped) when a signal has told the process to end.
std::string find_damage(const std::string& directory, base::Activity& activity);

/// The source's samples, read from the packed files of `directory`. `earlier_damage`, if not empty,
/// is the first remark: what was wrong with the copy that this one replaced. Throws DataError when
/// these contradict the manifest. A sample whose copy is damaged is read from the source, and marks
/// the set as damaged; take_remarks() tells of it. Only if the source differs, too, reading it
/// throws DataError.
std::shared_ptr<const dataset::Dataset> open_packed(std::shared_ptr<const dataset::Dataset> source,
                                                    const std::string& directory,
                                                    const std::string& earlier_damage = "");

}  // namespace staging
