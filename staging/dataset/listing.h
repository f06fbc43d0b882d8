// The location and label of every sample of a dataset, found by one rank and broadcast to the
// others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/activity.h"

namespace dataset {

/// No image takes more bytes, whatever its format.
inline constexpr std::int64_t kMostImageBytes = std::int64_t{512} << 20;

/// The most bytes that a file may take in which a sample of `bytes` is stored: arrays that are not
/// used may be beside it, or chunks that extend beyond it.
constexpr std::int64_t most_file_bytes(std::int64_t bytes) {
  constexpr std::int64_t kMostBeside = std::int64_t{64} << 20;
  return 4 * bytes + kMostBeside;
}

struct OpenOptions {
  /// Labels of a flat folder or archive: one line per image in the order of the sorted file names,
  /// or "FILE LABEL" lines in any order. A label is a class name, or an integer: the position of
  /// the class, except in ILSVRC2012_validation_ground_truth.txt, which is recognised.
  std::string labels_file;
  std::int64_t first_label = 0;  ///< the integer that means class 0: 0 or 1
  /// The class names by id, such as those of the training set; empty: those found.
  std::vector<std::string> class_names;
  base::Activity* activity = nullptr;  ///< if given, notified of progress
};

/// The samples of one dataset, sorted by class name, then file name (byte order); those of a flat
/// dataset by file name. Takes 24 bytes a sample, and a folder's file names.
struct Listing {
  enum class Kind : std::int32_t { kFolder, kTar };
  struct Sample {
    std::int64_t position = 0;      ///< kTar: offset of the data; kFolder: offset in `names`
    std::int64_t size = 0;          ///< kTar: bytes; kFolder: unknown, 0
    std::int32_t label = 0;         ///< class id
    std::uint32_t header_size = 0;  ///< kTar: bytes from the first header block to the data
  };
  Kind kind = Kind::kFolder;
  bool is_flat = false;
  std::string root;                       ///< the path as given; kTar: of the archive
  std::vector<std::string> class_names;   ///< by class id
  std::vector<std::string> folder_names;  ///< kFolder: by class id, relative to root; flat: only ""
  std::vector<Sample> samples;
  std::string names;                          ///< kFolder: zero-terminated file names
  std::int64_t ignored_files = 0;             ///< hidden, or without an image's extension
  std::int64_t file_size = 0;                 ///< kTar
  bool may_be_compressed = false;             ///< kTar: of some members, by their names
  std::int64_t mtime_ns = 0;                  ///< of root
  std::int64_t most_bytes = kMostImageBytes;  ///< larger samples are refused
  std::string remark;                         ///< for people; or ""
};

/// Serialises a listing for other ranks on the same type of machine.
std::string to_bytes(const Listing& listing);
Listing listing_from_bytes(std::string_view bytes);

}  // namespace dataset
