// Parsing of the "dataset" section of a DeepCAM configuration.
#include "workloads/deepcam/data_config.h"

#include <filesystem>

namespace deepcam {
namespace {

/// The path of `file` next to `folder`, for which "/data/train/" and "/data/train" both give
/// "/data".
std::string beside(const std::string& folder, const char* file) {
  std::filesystem::path path(folder);
  if (!path.has_filename()) path = path.parent_path();
  return (path.parent_path() / file).string();
}

}  // namespace

DataConfig parse_data(const base::ObjectReader& in) {
  DataConfig data;
  data.train = in.required<std::string>(
      "train",
      "folder of training samples, data-*.h5, one each; or one in an archive, as in data.tar/train",
      base::whole_path());
  data.validation =
      in.required<std::string>("validation", "folder of validation samples", base::whole_path());
  data.statistics = in.optional<std::string>(
      "statistics", beside(data.train, "stats.h5"),
      "file of minima and maxima that samples are normalised with; default: stats.h5 beside the "
      "folder of training samples",
      base::whole_path());
  data.names_statistics = in.has("statistics");
  data.cache_bytes = parallel::parse_cache_bytes(in);
  parallel::parse_read_keys(in, data);
  return data;
}

}  // namespace deepcam
