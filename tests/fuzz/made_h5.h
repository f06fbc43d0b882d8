// HDF5 files whose datasets are chosen by bytes: names, links, types, shapes, layouts, filters,
// attributes and values. HDF5 crashes on arbitrary bytes, but must read what it wrote itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fuzz {

struct MadeH5 {
  std::vector<std::byte> bytes;  ///< of the file
  /// Whether a chunk holds bytes that no filter made. HDF5 itself reads beyond its buffers then.
  bool has_raw_chunk = false;
};

MadeH5 make_h5(std::span<const std::uint8_t> choices);

}  // namespace fuzz
