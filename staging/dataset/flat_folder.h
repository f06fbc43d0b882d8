// The listing of a folder that holds samples, one file each.
// Hides the walk and the order.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runner/base/activity.h"
#include "staging/dataset/listing.h"

namespace dataset {

/// What else may lie in a folder of samples. Hidden files may everywhere.
enum class Others { kRefused, kIgnored };

struct FlatFolder {
  std::function<bool(std::string_view file)> is_sample;  ///< by the file's name
  std::string samples;                                   ///< in words: "sample files (.h5)"
  Others others = Others::kRefused;
};

/// The samples of the folder `path` in byte order of their file names, all of label 0 and the class
/// "". `activity` is told of every file, if given. Throws DataError naming the folder when it
/// cannot be listed, has no samples, or has what is refused.
Listing list_flat_folder(const std::string& path, const FlatFolder& folder,
                         base::Activity* activity);

}  // namespace dataset
