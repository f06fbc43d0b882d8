// Opens a dataset, however its files are packed.
#pragma once

#include <memory>
#include <string>

#include "staging/dataset/dataset.h"
#include "staging/dataset/listing.h"

namespace dataset {

/// Lists `path` (see list_samples) and opens it. Throws DataError.
std::unique_ptr<Dataset> open_dataset(const std::string& path, const OpenOptions& options = {});

/// Opens a dataset that was listed before, on this or another rank.
std::unique_ptr<Dataset> open_dataset(Listing listing);

}  // namespace dataset
