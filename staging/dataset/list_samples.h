// Lists the samples of a folder or archive of images.
#pragma once

#include <string>

#include "staging/dataset/listing.h"

namespace dataset {

/// Lists `path`: a folder of class folders, a tar of class folders, a tar of class tars or, with
/// `labels_file`, a flat folder or tar of images. Images are files named .jpg, .jpeg or .png (in
/// any case). Throws DataError naming path and offset, folder or line for anything else: no images,
/// an empty class, images at another depth, equal names, labels that do not match the images.
Listing list_samples(const std::string& path, const OpenOptions& options = {});

}  // namespace dataset
