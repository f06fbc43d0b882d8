// Arrays that an HDF5 file holds in chunks, compressed or not.
// Hides the grid of chunks and the filters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/h5_storage.h"

namespace dataset {

/// Where the chunks of an array lie. HDF5 itself would read them too, but one thread at a time, and
/// it trusts a damaged file so far that it reads behind the end of its buffers.
struct H5Chunks {
  enum class Filter { kDeflate, kShuffle };
  struct Chunk {
    std::int64_t offset = 0, bytes = 0;  ///< in the file
    std::uint32_t skipped = 0;           ///< bit i: filter i was not applied
  };
  std::vector<std::int64_t> dims, chunk_dims;
  std::int64_t element_bytes = 0;
  std::vector<Filter> filters;  ///< in the order of writing
  std::vector<Chunk> chunks;    ///< row-major
};

/// Within an H5Section. `label` begins each message. Throws DataError for a chunk that was never
/// written, other filters than deflate and shuffle, and a grid that no such array has.
H5Chunks find_chunks(const H5Dataset& dataset, const std::string& label);

/// All elements, row-major and as they are stored. Outside of any H5Section. Throws DataError when
/// a chunk does not lie in the file or does not expand to its size.
std::vector<std::byte> read_chunks(H5Storage& storage, const H5Chunks& chunks,
                                   const std::string& label);

}  // namespace dataset
