// Arrays that an HDF5 file stores in chunks, compressed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/h5_filters.h"
#include "staging/dataset/h5_storage.h"

namespace dataset {

/// The locations of an array's chunks. HDF5 could read the chunks itself, but only one thread at a
/// time could do so, and it reads beyond its buffers when the file is damaged.
struct H5Chunks {
  struct Chunk {
    std::int64_t offset = 0, bytes = 0;  ///< in the file
    std::uint32_t skipped = 0;           ///< bit i: filter i was not applied
  };
  std::vector<std::int64_t> dims, chunk_dims;
  std::int64_t element_bytes = 0;
  std::vector<H5Filter> filters;  ///< in the order in which they were applied
  std::vector<Chunk> chunks;      ///< row-major
};

/// Within an H5Section. `label` begins each message. Throws DataError for a chunk that was never
/// written, filters that filters_of() refuses, and a grid that does not match the array.
H5Chunks find_chunks(const H5Dataset& dataset, const std::string& label);

/// All elements, row-major, in stored byte order. Outside of any H5Section. Throws DataError when a
/// chunk is not within the file or does not expand to its size.
std::vector<std::byte> read_chunks(H5Storage& storage, const H5Chunks& chunks,
                                   const std::string& label);

}  // namespace dataset
