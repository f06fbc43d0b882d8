// The listing of a folder of samples, one file each, on disk or in an archive.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runner/base/activity.h"
#include "staging/dataset/listing.h"

namespace dataset {

/// What to do with other files in a folder of samples. Hidden files are always ignored.
enum class Others { kRefused, kIgnored };

struct FlatFolder {
  std::function<bool(std::string_view file)> is_sample;  ///< given the file's name
  std::string samples;                                   ///< for messages: "sample files (.h5)"
  Others others = Others::kRefused;
};

/// The samples of the folder `path` in byte order of their file names without the ending of a
/// compressed file, so that compression changes no order; all with label 0 and the class "". The
/// path may lead into a tar archive ("data.tar/train"); without a folder, samples are those at its
/// top, or else in the only folder that has any. `activity`, if given, is notified of every file.
/// Throws DataError naming the folder when it cannot be listed, has no samples, has one plain and
/// compressed or twice, or contains a refused file, and for samples in archives that are no plain
/// files.
Listing list_flat_folder(const std::string& path, const FlatFolder& folder,
                         base::Activity* activity);

}  // namespace dataset
