// Samples of the CosmoFlow benchmark, encoded and decoded: a universe's particle counts and the
// parameters of its cosmology. Hides HDF5, TFRecord, protocol buffers and gzip.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/universe_data.h"

namespace dataset {

/// kHdf5: datasets `x` and `y`. kTfrecord: one record, an Example with features `x` and `y`;
/// kTfrecordGzip: the same compressed, as the benchmark's files are since v1.0.
enum class UniverseFormat { kHdf5, kTfrecord, kTfrecordGzip };
/// ".hdf5" or ".tfrecord": whether the latter is compressed is told by content, not by name.
std::string_view universe_extension(UniverseFormat format);

/// The same universe gives the same bytes. Throws ShapeError when the counts are not as many as
/// the extents and channels say.
std::vector<std::byte> encode_universe(const Universe& universe, UniverseFormat format);

/// Format told by content: gzip and HDF5 by their first bytes, else TFRecord. In HDF5 the raw
/// universes' names `full` and `unitPar` are taken too. Threads may decode at once. Throws
/// DataError beginning with `name` for damage, another shape than `shape`, negative counts, and
/// targets that are not finite or beyond [-1.5, 1.5].
Universe decode_universe(std::span<const std::byte> bytes, const UniverseShape& shape,
                         const std::string& name);

/// The region alone of an encoded sample; counts outside of it may go unchecked. Throws ShapeError
/// for a region that is empty or not inside `shape`, else as decode_universe().
Universe decode_universe_region(std::span<const std::byte> bytes, const UniverseShape& shape,
                                const UniverseRegion& region, const std::string& name);

/// As decode_universe_region(), into `out`, whose memory is used again.
void decode_into(std::span<const std::byte> bytes, const UniverseShape& shape,
                 const UniverseRegion& region, const std::string& name, Universe& out);

}  // namespace dataset
