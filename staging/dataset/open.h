// Opens a dataset, whichever way its files are packed.
// Hides which reader serves it.
#pragma once

#include <memory>
#include <string>

#include "staging/dataset/dataset.h"
#include "staging/dataset/listing.h"

namespace dataset {

/// Lists `path` (see list_samples) and opens it. Throws DataError.
std::unique_ptr<Dataset> open_dataset(const std::string& path, const OpenOptions& options = {});

/// Opens a dataset that was listed before, here or on another rank.
std::unique_ptr<Dataset> open_dataset(Listing listing);

}  // namespace dataset
