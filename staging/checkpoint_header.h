// The header of a checkpoint: what the file holds, at which offsets, and the hash of every byte of
// it. It lies in the user block in front of the HDF5 file, which HDF5's tools skip, so that damage
// is found before HDF5 reads any of the file.
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
  std::vector<CheckpointSegment> segments;  ///< in order, covering the whole array

  std::int64_t total_bytes() const;
};

struct CheckpointHeader {
  std::int64_t block_bytes = 0;         ///< of the user block: where the HDF5 file begins
  std::int64_t file_bytes = 0;          ///< of the whole file
  std::uint64_t hdf5_bytes_hash = 0;    ///< of the bytes between and around the arrays: HDF5's own
  std::vector<CheckpointArray> arrays;  ///< sorted by offset
  std::string about;                    ///< the runner's record
};

/// A stretch of the file after the user block that no array covers.
struct FramePart {
  std::int64_t offset = 0, bytes = 0;
};
std::vector<FramePart> frame_of(const CheckpointHeader& header);

/// A line of magic, version, length and hash, then JSON. The length does not depend on the hashes'
/// values.
std::string to_text(const CheckpointHeader& header);

/// Length of that first line, which gives the length of the header.
inline constexpr std::int64_t kHeaderLineBytes = 72;
/// The first line of a header with this JSON.
std::string header_line(std::string_view json);
/// The length of the header (to_text()) according to its first line. Throws DataError when `name`
/// is no checkpoint or one of another version.
std::int64_t header_length(std::string_view line, std::int64_t file_bytes, const std::string& name);
/// Parses the result of to_text() and checks that it is consistent and that all arrays lie within a
/// file of `file_bytes`. Throws DataError saying where, what was expected and what was found.
CheckpointHeader parse_header(std::string_view text, std::int64_t file_bytes,
                              const std::string& name);

}  // namespace staging
