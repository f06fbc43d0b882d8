// A folder of universes, one file each, and reading them whole or in part.
// Hides the listing, and which bytes of a file make up a part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/activity.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/universe.h"

namespace dataset {

/// The samples of a folder in byte order of their file names, which end in .hdf5, .h5 or .tfrecord
/// (any case); hidden files are ignored. `activity` is told of every file, if given. Throws
/// DataError naming the folder when it cannot be listed, has no samples, or has anything else.
Listing list_universes(const std::string& path, base::Activity* activity = nullptr);

/// The listed samples, all of label 0 and the class "". To be called by the thread that started
/// MPI: HDF5, which starts here, calls MPI once.
std::unique_ptr<Dataset> open_universes(Listing listing);
std::unique_ptr<Dataset> open_universes(const std::string& path);

/// Sample `index` of `source` into `out`, whose memory is used again; with `region`, that box of it
/// alone. Returns the bytes that were read from storage: of a region of an HDF5 file that `source`
/// reads in place and that holds its counts in one piece, little more than the region; else the
/// whole sample. Threads may read at once. Throws as decode_universe_region().
std::int64_t read_universe(const Dataset& source, std::int64_t index, const UniverseShape& shape,
                           const UniverseRegion* region, Universe& out);

}  // namespace dataset
