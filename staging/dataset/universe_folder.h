// A folder of universes, one file each, and reading them whole or in part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/activity.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/universe.h"

namespace dataset {

/// The samples of a folder, files ending in .hdf5, .h5 or .tfrecord (in any case), or compressed
/// ones with .gz, .zst or .lz4 after that, in the order of list_flat_folder(). Hidden files are
/// ignored. `activity`, if given, is notified of every file. Throws DataError naming the folder
/// when it cannot be listed, has no samples, has one twice, or contains anything else.
Listing list_universes(const std::string& path, base::Activity* activity = nullptr);

/// Opens the listed samples, all with label 0 and the class "". Must be called by the thread that
/// initialised MPI: this starts HDF5, whose first call calls MPI.
std::unique_ptr<Dataset> open_universes(Listing listing);
std::unique_ptr<Dataset> open_universes(const std::string& path);

/// Reads sample `index` of `source`, or only the box `region` of it, into `out`, reusing its
/// memory. Returns the number of bytes read from storage: little more than the region's if `source`
/// reads an HDF5 file in place and the file stores its counts contiguously; otherwise the whole
/// sample's. Thread-safe. Throws as decode_universe_region().
std::int64_t read_universe(const Dataset& source, std::int64_t index, const UniverseShape& shape,
                           const UniverseRegion* region, Universe& out);

}  // namespace dataset
