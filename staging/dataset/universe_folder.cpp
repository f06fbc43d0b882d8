// A folder of universes, one file each, and reading them whole or in part.
// Hides the listing, and which bytes of a file make up a part.
#include "staging/dataset/universe_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "staging/dataset/file.h"
#include "staging/dataset/open.h"
#include "staging/dataset/universe_h5.h"
#include "staging/dataset/universe_parts.h"

namespace dataset {
namespace {

namespace fs = std::filesystem;

bool is_sample(const fs::directory_entry& entry) {
  constexpr std::array kExtensions = {".hdf5", ".h5", ".tfrecord"};
  std::string extension = entry.path().extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return !entry.is_directory() &&
         std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

/// File names, zero-terminated and unsorted, into `listing`; the first (in byte order) of what is
/// no sample into `other`.
void walk(Listing& listing, std::string& other, base::Activity* activity) {
  for (const auto& entry : fs::directory_iterator(listing.root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) {
      ++listing.ignored_files;
    } else if (is_sample(entry)) {
      Listing::Sample sample;
      sample.position = static_cast<std::int64_t>(listing.names.size());
      listing.samples.push_back(sample);
      listing.names.append(name).push_back('\0');
    } else if (other.empty() || name < other) {
      other = name;
    }
    if (activity != nullptr) activity->progress();
  }
}

/// Reads of an HDF5 file's counts: what lies between two runs is read with them where storage would
/// read it anyway.
struct Piece {
  std::size_t first = 0, last = 0;  ///< of the runs
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

/// The runs, counted from `offset` of the file, into `out`; returns the bytes that were read.
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

/// A region of the sample that `file` is; returns the bytes that were read.
std::int64_t read_in_place(const File& file, const UniverseShape& shape,
                           const UniverseRegion& region, Universe& out) {
  H5FileParts parts(file);
  const UniverseInH5 found = is_h5(parts.head())
                                 ? look_into_h5(parts, shape, OtherCounts::kLeave, file.path())
                                 : UniverseInH5();
  if (found.offset < 0) {
    std::vector<std::byte> bytes(parts.head().begin(), parts.head().end());
    const std::size_t head = bytes.size();
    bytes.resize(static_cast<std::size_t>(file.size()));
    file.read(static_cast<std::int64_t>(head), std::span(bytes).subspan(head));
    decode_into(bytes, shape, region, file.path(), out);
    return parts.bytes_read() + static_cast<std::int64_t>(bytes.size() - head);
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
  Listing listing;
  listing.root = path;
  listing.is_flat = true;
  listing.class_names = listing.folder_names = {""};
  std::string other;
  try {
    walk(listing, other, activity);
  } catch (const fs::filesystem_error& e) {
    throw base::DataError(fmt::format("{}: cannot be listed: {}", path, e.code().message()));
  }
  constexpr char kExpected[] = "expected sample files (.hdf5, .h5, .tfrecord) and nothing else";
  if (!other.empty()) {
    throw base::DataError(
        fmt::format("{}: {}, found '{}'", path, kExpected, base::printable(other)));
  }
  if (listing.samples.empty()) {
    throw base::DataError(fmt::format("{}: {}, found none", path, kExpected));
  }
  listing.samples.shrink_to_fit();
  listing.names.shrink_to_fit();
  std::sort(listing.samples.begin(), listing.samples.end(), [&](const auto& a, const auto& b) {
    return std::strcmp(listing.names.data() + a.position, listing.names.data() + b.position) < 0;
  });
  return listing;
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
  if (!path.empty()) return read_in_place(File(path), shape, part, out);
  std::vector<std::byte> bytes;
  source.read(index, bytes);
  decode_into(bytes, shape, part, source.name(index), out);
  return static_cast<std::int64_t>(bytes.size());
}

}  // namespace dataset
