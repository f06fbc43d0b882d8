// The header of a checkpoint: what the file holds, where it lies, and the hash of every byte of it.
// Hides its text form. It stands in the user block in front of the HDF5 file, which HDF5's tools
// pass over, so that a damaged file is recognised before HDF5 reads any of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/state.h"

namespace staging {

/// Consecutive bytes of an array, written by one rank.
struct CheckpointSegment {
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;  ///< XXH3, 64 bits
};

struct CheckpointArray {
  std::string name;
  base::ElementType element = base::ElementType::kFloat32;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;                  ///< in the file
  std::vector<CheckpointSegment> segments;  ///< together the whole array, in order

  std::int64_t total_bytes() const;
};

struct CheckpointHeader {
  std::int64_t block_bytes = 0;         ///< of the user block: where HDF5's part begins
  std::int64_t file_bytes = 0;          ///< of the whole file
  std::uint64_t frame_hash = 0;         ///< of the bytes between and around the arrays: HDF5's own
  std::vector<CheckpointArray> arrays;  ///< by offset
  std::string about;                    ///< the runner's record
};

/// A stretch of the file that no array covers, behind the user block.
struct FramePart {
  std::int64_t offset = 0, bytes = 0;
};
std::vector<FramePart> frame_of(const CheckpointHeader& header);

/// Line of magic, version, length and hash, then JSON. Its length does not depend on the values of
/// hashes.
std::string to_text(const CheckpointHeader& header);

/// Bytes at the start of a file that say how long the header is.
inline constexpr std::int64_t kHeaderLineBytes = 72;
/// That line for a header with this JSON behind it.
std::string header_line(std::string_view json);
/// The length of to_text() that this line tells. Throws DataError: `name` is no checkpoint, or one
/// of another version.
std::int64_t header_length(std::string_view line, std::int64_t file_bytes, const std::string& name);
/// Reads what to_text() wrote and checks that all of it fits together and into a file of
/// `file_bytes`. Throws DataError saying where, what was expected and what was found.
CheckpointHeader parse_header(std::string_view text, std::int64_t file_bytes,
                              const std::string& name);

}  // namespace staging
