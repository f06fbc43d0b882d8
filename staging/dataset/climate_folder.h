// A folder of climate samples, one HDF5 file each.
// Hides the listing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runner/base/activity.h"
#include "staging/dataset/climate.h"
#include "staging/dataset/dataset.h"
#include "staging/dataset/listing.h"

namespace dataset {

/// The samples of a folder in byte order of their file names, data-*.h5; anything else is ignored,
/// as stats.h5 may lie there. `activity` is told of every file, if given. Throws DataError naming
/// the folder when it cannot be listed or has no samples.
Listing list_climate(const std::string& path, base::Activity* activity = nullptr);

/// The listed samples, all of label 0 and the class "". To be called by the thread that started
/// MPI: HDF5, which starts here, calls MPI once.
std::unique_ptr<Dataset> open_climate(Listing listing);
std::unique_ptr<Dataset> open_climate(const std::string& path);

/// Sample `index` of `source` into `out`, whose memory is used again. Returns the bytes that were
/// read from storage. Threads may read at once. Throws as decode_climate_into().
std::int64_t read_climate(const Dataset& source, std::int64_t index, const ClimateShape& shape,
                          ClimateSample& out);

}  // namespace dataset
