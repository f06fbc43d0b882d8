// The listing of a folder of samples, one file each.
#include "staging/dataset/flat_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "staging/dataset/expand.h"

namespace dataset {
namespace {

namespace fs = std::filesystem;

/// Adds the file names, zero-terminated and unsorted, to `listing`. Sets `other` to the first
/// refused name in byte order.
void walk(const FlatFolder& folder, Listing& listing, std::string& other,
          base::Activity* activity) {
  for (const auto& entry : fs::directory_iterator(listing.root)) {
    const std::string name = entry.path().filename().string();
    const bool is_hidden = name.starts_with('.');
    if (!is_hidden && folder.is_sample(name) && !entry.is_directory()) {
      Listing::Sample sample;
      sample.position = static_cast<std::int64_t>(listing.names.size());
      listing.samples.push_back(sample);
      listing.names.append(name).push_back('\0');
    } else if (is_hidden || folder.others == Others::kIgnored) {
      ++listing.ignored_files;
    } else if (other.empty() || name < other) {
      other = name;
    }
    if (activity != nullptr) activity->progress();
  }
}

/// The sample's name without the ending of a compressed file.
std::string_view sample_name(const Listing& listing, const Listing::Sample& sample) {
  return without_compression(listing.names.data() + sample.position);
}

/// Tools that compress often leave the plain file.
void require_once(const Listing& listing) {
  const auto twice = std::adjacent_find(listing.samples.begin(), listing.samples.end(),
                                        [&](const auto& a, const auto& b) {
                                          return sample_name(listing, a) == sample_name(listing, b);
                                        });
  if (twice == listing.samples.end()) return;
  const char* const first = listing.names.data() + twice->position;
  const char* const second = listing.names.data() + (twice + 1)->position;
  throw base::DataError(
      fmt::format("{}: expected each sample once, found '{}' and '{}'; remove one", listing.root,
                  base::printable(first), base::printable(second)));
}

}  // namespace

Listing list_flat_folder(const std::string& path, const FlatFolder& folder,
                         base::Activity* activity) {
  Listing listing;
  listing.root = path;
  listing.is_flat = true;
  listing.class_names = listing.folder_names = {""};
  std::string other;
  try {
    walk(folder, listing, other, activity);
  } catch (const fs::filesystem_error& e) {
    throw base::DataError(fmt::format("{}: cannot be listed: {}", path, e.code().message()));
  }
  if (!other.empty()) {
    throw base::DataError(
        fmt::format("{}: expected {}, found '{}'", path, folder.samples, base::printable(other)));
  }
  if (listing.samples.empty()) {
    throw base::DataError(fmt::format("{}: expected {}, found none", path, folder.samples));
  }
  listing.samples.shrink_to_fit();
  listing.names.shrink_to_fit();
  std::sort(listing.samples.begin(), listing.samples.end(), [&](const auto& a, const auto& b) {
    const int order = sample_name(listing, a).compare(sample_name(listing, b));
    if (order != 0) return order < 0;
    return std::strcmp(listing.names.data() + a.position, listing.names.data() + b.position) < 0;
  });
  require_once(listing);
  return listing;
}

}  // namespace dataset
