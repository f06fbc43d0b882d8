// What listings and readers of all kinds do with tar archives.
#include "staging/dataset/tar_listing.h"

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/file_format.h"
#include "runner/base/narrow.h"
#include "runner/base/printable.h"

namespace dataset {

void require_tar(const File& file) {
  std::vector<std::byte> head(kTarBlock);
  head.resize(static_cast<std::size_t>(file.read_some(0, head)));
  const std::string format = base::format_in_words(head);
  const bool is_whole = std::ssize(head) == kTarBlock;
  if (format.empty() || (is_whole && (is_tar_header(head.data()) || is_end_mark(head.data())))) {
    return;
  }
  throw base::DataError(
      fmt::format("{}: expected a plain tar archive, found {}", file.path(), format));
}

void begin_listing(const File& file, Listing& listing) {
  require_tar(file);
  listing.kind = Listing::Kind::kTar;
  listing.root = file.path();
  listing.file_size = file.size();
  listing.mtime_ns = file.mtime_ns();
}

Listing::Sample sample_of(const TarMember& member) {
  Listing::Sample sample;
  sample.position = member.data_offset;
  sample.size = member.size;
  sample.header_size = base::narrow<std::uint32_t>(member.data_offset - member.header_offset);
  return sample;
}

std::vector<std::byte> read_member(const base::ArchivePath& path, std::int64_t most_bytes) {
  const File file(path.file);
  require_tar(file);
  const std::string name = fmt::format("{}/{}", path.file, base::printable(path.below));
  TarWalker walker(file, path.file, 0, file.size());
  std::optional<TarMember> last;  // which is the one that tar extracts
  for (TarMember member; walker.next(member);) {
    if (member.name == path.below) last = member;
  }
  if (!last || last->kind != TarMember::Kind::kFile) {
    throw base::DataError(fmt::format("{}: expected a file in the archive, found {}", name,
                                      last ? "a link, folder or special file" : "none"));
  }
  if (last->size > most_bytes) {
    throw base::DataError(
        fmt::format("{}: expected at most {} bytes, found {}", name, most_bytes, last->size));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(last->size));
  file.read(last->data_offset, bytes);
  return bytes;
}

}  // namespace dataset
