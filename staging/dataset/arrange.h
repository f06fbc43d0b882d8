// From the paths of images to classes, labels and order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/listing.h"

namespace dataset {

/// The images that a walk over a folder or archive found, in any order.
struct Findings {
  struct Image {
    std::int64_t path = 0;  ///< offset in `paths`
    Listing::Sample sample;
  };
  std::string paths;  ///< zero-terminated, relative to the root
  std::vector<Image> images;
  std::vector<std::string> folders;  ///< class folders or class archives, including empty ones
  std::int64_t ignored_files = 0;    ///< in all
  std::int64_t left_out = 0;         ///< of them, those in class folders that are not hidden
  std::string first_left_out;
  base::Activity* activity = nullptr;  ///< if given, notified of every image

  void add(std::string_view path, const Listing::Sample& sample);
  /// Counts a file that is no image.
  void leave_out(std::string_view path);
  std::string_view path(const Image& image) const { return paths.data() + image.path; }
};

enum class FileUse { kImage, kArchive, kIgnored };
/// By the last component: hidden files and unknown extensions are ignored.
FileUse use_of(std::string_view path);
bool is_hidden(std::string_view path);
/// Whether a component of the path is "..".
bool climbs(std::string_view path);

/// Gives every image its class and sorts the images; fills in classes, samples and, for kFolder,
/// names of `listing`. Throws DataError.
void arrange(Findings findings, const OpenOptions& options, Listing& listing);

/// Reads the labels file: returns the class id of each of the sorted `file_names`, and sets
/// class_names and remark of `listing`. Throws DataError naming the line.
std::vector<std::int32_t> read_labels(const std::vector<std::string_view>& file_names,
                                      const OpenOptions& options, Listing& listing);

}  // namespace dataset
