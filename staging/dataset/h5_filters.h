// HDF5's own filters of chunks, undone without HDF5.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dataset {

/// A filter with its parameters as the file has them.
struct H5Filter {
  enum class Kind { kDeflate, kShuffle, kFletcher32, kScaleOffset, kIdentity };
  Kind kind = Kind::kIdentity;
  std::vector<unsigned> values;
};

/// The filters of a property list for dataset creation, in the order in which they are applied.
/// Within an H5Section. `label` begins the message. Throws DataError naming any filter that is not
/// read: szip, and those that are not HDF5's own.
std::vector<H5Filter> filters_of(hid_t creation, const std::string& label);

/// Undoes the filters of a chunk of `bytes` bytes and elements of `element_bytes`, the last one
/// first. Bit i of `skipped`: filter i was not applied to this chunk. Throws DataError, whose
/// message says only what was found, for damaged data.
std::vector<std::byte> unfiltered(std::vector<std::byte> stored,
                                  const std::vector<H5Filter>& filters, std::uint32_t skipped,
                                  std::size_t bytes, std::size_t element_bytes);

}  // namespace dataset
