// Samples in files of a private folder on the node's storage, each checked when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/folder_use.h"

namespace cache {

/// The folder of one process. It is removed with this object; if the process dies, by the next run
/// that looks for leftovers there (staging::remove_leftovers()). Thread-safe for different files.
class DiskFiles {
 public:
  /// Creates a folder in `directory`, which staging::make_staging_directory() has made. Throws
  /// SystemError.
  explicit DiskFiles(const std::string& directory);
  ~DiskFiles();
  DiskFiles(const DiskFiles&) = delete;
  DiskFiles& operator=(const DiskFiles&) = delete;

  const std::string& folder() const { return use_.folder(); }
  std::string path(std::uint64_t file) const;
  /// Throws SystemError, and leaves nothing then.
  void write(std::uint64_t file, std::span<const std::byte> bytes) const;
  enum class Found { kWhole, kGone, kDamaged };
  /// Fills `out`, which has the size of the file; `hash` is that of its bytes.
  Found read(std::uint64_t file, std::uint64_t hash, std::span<std::byte> out) const;
  void remove(std::uint64_t file) const noexcept;

 private:
  staging::FolderUse use_;
};

}  // namespace cache
