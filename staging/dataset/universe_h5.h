// Universes in HDF5.
// Hides HDF5's calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/h5_storage.h"
#include "staging/dataset/universe_data.h"

namespace dataset {

/// What an HDF5 file says of a sample.
struct UniverseInH5 {
  /// Where the counts lie in the file as they are in memory; -1 when they do not, but are chunked,
  /// compressed or of another byte order.
  std::int64_t offset = -1;
  std::vector<std::byte> counts;  ///< of the whole sample when they were to be converted, else none
  std::array<float, 4> targets{};
};
enum class OtherCounts { kLeave, kConvert };
/// Checks names, types, shapes, and that the counts lie within the file; `others` says what to do
/// with counts that do not lie there as they are in memory. Throws DataError beginning with `name`.
UniverseInH5 look_into_h5(H5Storage& storage, const UniverseShape& shape, OtherCounts others,
                          const std::string& name);

std::vector<std::byte> encode_h5(const Universe& universe);

}  // namespace dataset
