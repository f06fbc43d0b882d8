// A folder of climate samples, one HDF5 file each.
#include "staging/dataset/climate_folder.h"

#include <string_view>
#include <utility>
#include <vector>

#include "staging/dataset/expand.h"
#include "staging/dataset/file.h"
#include "staging/dataset/flat_folder.h"
#include "staging/dataset/h5_calls.h"
#include "staging/dataset/open.h"

namespace dataset {
namespace {

constexpr std::string_view kBegin = "data-", kEnd = ".h5";

bool is_climate_sample(std::string_view name) {
  const std::string_view file = without_compression(name);
  return file.size() >= kBegin.size() + kEnd.size() && file.starts_with(kBegin) &&
         file.ends_with(kEnd);
}

}  // namespace

Listing list_climate(const std::string& path, base::Activity* activity) {
  return list_flat_folder(
      path,
      {is_climate_sample, "sample files (data-*.h5, also in .gz, .zst, .lz4)", Others::kIgnored},
      activity);
}

std::unique_ptr<Dataset> open_climate(Listing listing) {
  start_h5();
  return open_dataset(std::move(listing));
}

std::unique_ptr<Dataset> open_climate(const std::string& path) {
  return open_climate(list_climate(path));
}

std::int64_t read_climate(const Dataset& source, std::int64_t index, const ClimateShape& shape,
                          ClimateSample& out) {
  const std::string path = source.path(index);
  if (!path.empty()) {
    const File file(path);
    source.note_opened(index, {file.size(), file.mtime_ns()});
    return read_climate_into(file, shape, out);
  }
  std::vector<std::byte> bytes;
  source.read(index, bytes);
  decode_climate_into(bytes, shape, source.name(index), out);
  return static_cast<std::int64_t>(bytes.size());
}

}  // namespace dataset
