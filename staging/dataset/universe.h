// Samples of the CosmoFlow benchmark, encoded and decoded: a universe's particle counts and the
// parameters of its cosmology.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/universe_data.h"

namespace dataset {

/// kHdf5: datasets `x` and `y`. kTfrecord: one record, an Example with features `x` and `y`.
/// kTfrecordGzip: the same compressed, like the benchmark's files since v1.0.
enum class UniverseFormat { kHdf5, kTfrecord, kTfrecordGzip };
/// ".hdf5" or ".tfrecord". Readers recognise compression by content, not by name.
std::string_view universe_extension(UniverseFormat format);

/// Equal universes give equal bytes. Throws ShapeError when the number of counts differs from the
/// product of extents and channels.
std::vector<std::byte> encode_universe(const Universe& universe, UniverseFormat format);

/// Recognises the format by content: compression (expand.h) and HDF5 by their first bytes, else
/// TFRecord. HDF5 files may also have the dataset names of raw universes, `full` and `unitPar`.
/// Thread-safe. Throws DataError beginning with `name` for damage, expanded content beyond
/// most_file_bytes(), another shape than `shape`, negative counts, and targets that are not finite
/// or beyond [-1.5, 1.5].
Universe decode_universe(std::span<const std::byte> bytes, const UniverseShape& shape,
                         const std::string& name);

/// Decodes only a region of a sample; counts outside of it may go unchecked. Throws ShapeError for
/// a region that is empty or not inside `shape`, otherwise as decode_universe().
Universe decode_universe_region(std::span<const std::byte> bytes, const UniverseShape& shape,
                                const UniverseRegion& region, const std::string& name);

/// Like decode_universe_region(), but decodes into `out`, reusing its memory.
void decode_into(std::span<const std::byte> bytes, const UniverseShape& shape,
                 const UniverseRegion& region, const std::string& name, Universe& out);

}  // namespace dataset
