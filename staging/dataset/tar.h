// Iteration over the members of a tar archive: ustar, GNU and pax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/dataset/file.h"

namespace dataset {

/// Bytes of a block of an archive; headers and data begin at blocks.
inline constexpr std::int64_t kTarBlock = 512;

/// Whether the checksum of a header block holds, which no other block is likely to have.
bool is_tar_header(const std::byte* block);
/// Whether a block is zeros. Two of them end an archive.
bool is_end_mark(const std::byte* block);

struct TarMember {
  enum class Kind { kFile, kFolder, kHardLink, kOther };
  std::string name;                ///< as archived, without leading "./" and trailing "/"
  std::string target;              ///< of a kHardLink: the name of a member
  Kind kind = Kind::kFile;         ///< kOther: symbolic links, devices, sparse files
  std::int64_t header_offset = 0;  ///< of its first header block, including extension headers
  std::int64_t data_offset = 0;    ///< in the file, like header_offset
  std::int64_t size = 0;           ///< of the data
};

/// Walks the archive in [begin, end) of a file (the whole file, or a member that is itself an
/// archive), and archives that were appended to it. Source: POSIX.1-2017 pax interchange format;
/// GNU tar manual, "Basic Tar Format".
class TarWalker {
 public:
  /// `label` names the archive in messages.
  TarWalker(const File& file, std::string label, std::int64_t begin, std::int64_t end);
  /// Finds the next member; returns false after the last. Throws DataError naming archive and
  /// offset for a wrong checksum, a damaged number or extension, a truncated archive, and other
  /// bytes than an archive's after the end mark.
  bool next(TarMember& member);

 private:
  struct Extension {
    std::string name, target;
    std::int64_t size = -1;
    bool is_sparse = false;
  };
  const std::byte* block(std::int64_t offset);
  bool pass_end_mark(std::int64_t mark);
  std::string payload(std::int64_t offset, std::int64_t size);
  void read_pax(std::int64_t offset, std::int64_t size, Extension& extension);
  [[noreturn]] void fail(std::int64_t offset, const std::string& what) const;

  const File& file_;
  std::string label_;
  const std::int64_t begin_, end_;
  std::int64_t position_;
  std::vector<std::byte> window_;
  std::int64_t window_begin_ = 0, window_size_ = 0;
  std::int64_t previous_size_ = 0;
};

}  // namespace dataset
