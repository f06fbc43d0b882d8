// Expands whole compressed files: gzip, zstd and lz4, recognised by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/dataset/file.h"

namespace dataset {

enum class Compression { kNone, kGzip, kZstd, kLz4 };

/// How a file that begins with these bytes is compressed, by the magic number of its first frame
/// that is not skippable. Files of skippable frames alone count as zstd.
Compression compression_of(std::span<const std::byte> begin);

/// A file's name without the ending of a compressed file (.gz, .zst, .lz4; in any case).
std::string_view without_compression(std::string_view file);

/// Expands a compressed file: one or several members (gzip, RFC 1952) or frames (zstd, RFC 8878;
/// lz4, not its legacy format), which may have skippable frames between them. Checks every checksum
/// that the file has. No single piece of memory for the content exceeds `most_bytes`; decoders take
/// up to 9 MiB more. Throws DataError naming file (`name`) and offset when the file is damaged or
/// truncated, when anything else follows a frame, when a frame needs a dictionary, and as soon as
/// the content exceeds `most_bytes`.
std::vector<std::byte> expand(std::span<const std::byte> file, std::int64_t most_bytes,
                              const std::string& name);

/// The same, into `content`. Throws DataError unless the content takes exactly its bytes, too.
void expand_into(std::span<const std::byte> file, std::span<std::byte> content,
                 const std::string& name);

/// Whether a file of this name may be compressed: its name ends so, or as a TFRecord, which
/// CosmoFlow's authors compress without a word of it in the name.
bool may_be_compressed(std::string_view file);

/// The bytes of a compressed file's content, as its first frame (zstd, lz4) or last member (gzip)
/// states them; nullopt if it is not compressed, states none, no more than the file itself takes,
/// or more than `most_bytes`. Wrong for several frames and damaged files; expand_into() notices
/// that.
std::optional<std::int64_t> stated_bytes(std::span<const std::byte> file, std::int64_t most_bytes);
/// The same of the compressed file of `bytes` that lies at `offset` of another file, an archive; by
/// reading only a few bytes. Throws DataError.
std::optional<std::int64_t> stated_bytes(const File& file, std::int64_t offset, std::int64_t bytes,
                                         std::int64_t most_bytes);

}  // namespace dataset
