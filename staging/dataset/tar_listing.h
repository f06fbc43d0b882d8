// What listings and readers of all kinds do with tar archives.
#pragma once

#include <cstddef>
#include <vector>

#include "runner/base/archive_path.h"
#include "staging/dataset/file.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/tar.h"

namespace dataset {

/// Throws DataError for a file that is known as another kind than a plain tar archive.
void require_tar(const File& file);

/// The same, and notes the archive in `listing`.
void begin_listing(const File& file, Listing& listing);

/// Where the member's data is.
Listing::Sample sample_of(const TarMember& member);

/// The content of a file in an archive. Throws DataError beginning with the path if there is none,
/// or it has more than `most_bytes`.
std::vector<std::byte> read_member(const base::ArchivePath& path, std::int64_t most_bytes);

}  // namespace dataset
