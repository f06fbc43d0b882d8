// A folder of universes, one file each, and reading them whole or in part.
#include "staging/dataset/universe_folder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/dataset/expand.h"
#include "staging/dataset/file.h"
#include "staging/dataset/flat_folder.h"
#include "staging/dataset/h5_array.h"
#include "staging/dataset/open.h"
#include "staging/dataset/universe_h5.h"
#include "staging/dataset/universe_parts.h"

namespace dataset {
namespace {

namespace fs = std::filesystem;

bool is_universe_sample(std::string_view file) {
  constexpr std::array kExtensions = {".hdf5", ".h5", ".tfrecord"};
  std::string extension = fs::path(without_compression(file)).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

/// Runs of an HDF5 file's counts that are read together: gaps smaller than a page are read with
/// them, since storage would read those pages anyway.
struct Piece {
  std::size_t first = 0, last = 0;  ///< indices of the runs
};

Piece piece_from(const std::vector<Run>& runs, std::size_t first) {
  constexpr std::int64_t kPage = 4096, kMostBytes = 1 << 20;
  const auto end_of = [&](std::size_t i) { return runs[i].offset + runs[i].bytes; };
  std::size_t last = first + 1;
  while (last < runs.size() && runs[last].offset - end_of(last - 1) < kPage &&
         end_of(last) - runs[first].offset <= kMostBytes) {
    ++last;
  }
  return {first, last};
}

/// Reads the runs, whose offsets count from `offset` in the file, into `out`. Returns the number of
/// bytes read.
std::int64_t read_runs(const File& file, std::int64_t offset, const std::vector<Run>& runs,
                       std::span<std::byte> out) {
  std::int64_t bytes_read = 0;
  std::vector<std::byte> piece;
  const auto take = [&out](std::int64_t bytes) {
    const auto taken = out.first(static_cast<std::size_t>(bytes));
    out = out.subspan(taken.size());
    return taken;
  };
  for (std::size_t next = 0; next < runs.size();) {
    const auto [first, last] = piece_from(runs, next);
    const std::int64_t begin = runs[first].offset;
    const std::int64_t bytes = runs[last - 1].offset + runs[last - 1].bytes - begin;
    if (last == first + 1) {
      file.read(offset + begin, take(bytes));
    } else {
      piece.resize(static_cast<std::size_t>(bytes));
      file.read(offset + begin, piece);
      for (std::size_t i = first; i < last; ++i) {
        const auto to = take(runs[i].bytes);
        std::memcpy(to.data(), piece.data() + (runs[i].offset - begin), to.size());
      }
    }
    bytes_read += bytes;
    next = last;
  }
  return bytes_read;
}

/// Reads a region of the sample in `file`. Returns the number of bytes read.
std::int64_t read_in_place(const File& file, const UniverseShape& shape,
                           const UniverseRegion& region, Universe& out) {
  H5FileParts parts(file);
  const UniverseInH5 found = is_h5(parts.head())
                                 ? inspect_h5(parts, shape, OtherCounts::kLeave, file.path())
                                 : UniverseInH5();
  if (found.offset < 0) {
    const std::vector<std::byte> bytes = read_rest(file, parts.head());
    decode_into(bytes, shape, region, file.path(), out);
    return parts.bytes_read() + std::ssize(bytes) - std::ssize(parts.head());
  }
  prepare(region, shape, out);
  const std::int64_t bytes_read = read_runs(file, found.offset, runs_of(region, shape),
                                            std::as_writable_bytes(std::span(out.counts)));
  out.targets = found.targets;
  check_targets(out.targets, file.path());
  check_counts(out.counts, region, shape, file.path());
  return parts.bytes_read() + bytes_read;
}

}  // namespace

Listing list_universes(const std::string& path, base::Activity* activity) {
  return list_flat_folder(
      path,
      {is_universe_sample,
       "sample files (.hdf5, .h5, .tfrecord, each also in .gz, .zst, .lz4) and nothing else",
       Others::kRefused},
      activity);
}

std::unique_ptr<Dataset> open_universes(Listing listing) {
  start_h5();
  return open_dataset(std::move(listing));
}

std::unique_ptr<Dataset> open_universes(const std::string& path) {
  return open_universes(list_universes(path));
}

std::int64_t read_universe(const Dataset& source, std::int64_t index, const UniverseShape& shape,
                           const UniverseRegion* region, Universe& out) {
  const UniverseRegion part = region == nullptr ? whole_of(shape) : *region;
  check_region(part, shape);
  const std::string path = region == nullptr ? "" : source.path(index);
  if (!path.empty()) {
    const File file(path);
    source.note_opened(index, {file.size(), file.mtime_ns()});
    return read_in_place(file, shape, part, out);
  }
  std::vector<std::byte> bytes;
  source.read(index, bytes);
  decode_into(bytes, shape, part, source.name(index), out);
  return static_cast<std::int64_t>(bytes.size());
}

}  // namespace dataset
