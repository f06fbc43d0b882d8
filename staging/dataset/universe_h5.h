// Universes in HDF5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/h5_storage.h"
#include "staging/dataset/universe_data.h"

namespace dataset {

/// The targets of a sample in an HDF5 file, and its counts or their location.
struct UniverseInH5 {
  /// Offset of the counts in the file; -1 unless they are stored contiguously, uncompressed and in
  /// native byte order.
  std::int64_t offset = -1;
  std::vector<std::byte> counts;  ///< of the whole sample if they were converted, else empty
  std::array<float, 4> targets{};
};
enum class OtherCounts { kLeave, kConvert };
/// Checks names, types and shapes, and that the counts lie within the file. `others`: whether to
/// convert counts that are not stored in native form. Throws DataError beginning with `name`.
UniverseInH5 inspect_h5(H5Storage& storage, const UniverseShape& shape, OtherCounts others,
                        const std::string& name);

std::vector<std::byte> encode_h5(const Universe& universe);

}  // namespace dataset
