// HDF5 files whose datasets are chosen by bytes: names, links, types, shapes, layouts, filters,
// attributes and values. HDF5 crashes on arbitrary bytes, but must read what it wrote itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fuzz {

/// The bytes of the file. Its chunks may hold bytes that no filter made.
std::vector<std::byte> make_h5(std::span<const std::uint8_t> choices);

}  // namespace fuzz
