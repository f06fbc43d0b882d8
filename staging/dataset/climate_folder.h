// A folder of climate samples, one HDF5 file each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/activity.h"
#include "staging/dataset/climate.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/listing.h"

namespace dataset {

/// The samples of a folder, data-*.h5, or compressed data-*.h5.gz, .zst or .lz4, in the order of
/// list_flat_folder(). Other files, such as stats.h5, are ignored. `activity`, if given, is
/// notified of every file. Throws DataError naming the folder when it cannot be listed, has no
/// samples, or has one twice.
Listing list_climate(const std::string& path, base::Activity* activity = nullptr);

/// Opens the listed samples, all with label 0 and the class "". Must be called by the thread that
/// initialised MPI: this starts HDF5, whose first call calls MPI.
std::unique_ptr<Dataset> open_climate(Listing listing);
std::unique_ptr<Dataset> open_climate(const std::string& path);

/// Decodes sample `index` of `source` into `out`, reusing its memory. Returns the number of bytes
/// read from storage. Thread-safe. Throws as decode_climate_into().
std::int64_t read_climate(const Dataset& source, std::int64_t index, const ClimateShape& shape,
                          ClimateSample& out);

}  // namespace dataset
