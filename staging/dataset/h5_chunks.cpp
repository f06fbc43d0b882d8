// Arrays that an HDF5 file stores in chunks, compressed or not.
#include "staging/dataset/h5_chunks.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "runner/base/error.h"

namespace dataset {
namespace {

using Sizes = std::vector<std::int64_t>;

/// The product of all factors, or -1 when it exceeds `most` or a factor is not positive.
std::int64_t product(const Sizes& factors, std::int64_t most) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) {
    if (factor < 1 || factor > most / result) return -1;
    result *= factor;
  }
  return result;
}

Sizes grid_of(const H5Chunks& chunks) {
  Sizes grid;
  for (std::size_t axis = 0; axis < chunks.dims.size(); ++axis) {
    grid.push_back((chunks.dims[axis] - 1) / chunks.chunk_dims[axis] + 1);
  }
  return grid;
}

/// Advances `place` in row-major order within `sizes`; returns false after the last one.
bool advance(Sizes& place, const Sizes& sizes) {
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (++place[axis] < sizes[axis]) return true;
    place[axis] = 0;
  }
  return false;
}

void find_dims(const H5Dataset& dataset, hid_t creation, H5Chunks& chunks) {
  const H5Type type(H5Dget_type(dataset.get()));
  const H5Space space(H5Dget_space(dataset.get()));
  const auto rank = static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0));
  std::vector<hsize_t> dims(rank), chunk(rank);
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  H5Pget_chunk(creation, static_cast<int>(rank), chunk.data());
  chunks.dims.assign(dims.begin(), dims.end());
  chunks.chunk_dims.assign(chunk.begin(), chunk.end());
  chunks.element_bytes = static_cast<std::int64_t>(H5Tget_size(type.get()));
}

/// Throws DataError for an impossible grid. A chunk may extend beyond the array, but not by much.
void check_grid(const H5Chunks& chunks, const std::string& label) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40, kMostBeyond = 1 << 16,
                         kMostChunks = 1 << 20;
  const std::int64_t elements = product(chunks.dims, kMostElements);
  const std::int64_t of_chunk = product(chunks.chunk_dims, kMostElements);
  const bool fits = elements > 0 && of_chunk > 0 && chunks.element_bytes > 0 &&
                    of_chunk <= 4 * elements + kMostBeyond &&
                    product(grid_of(chunks), kMostChunks) > 0;
  if (!fits) {
    throw base::DataError(fmt::format("{}: expected chunks that fit shape [{}], found [{}]", label,
                                      fmt::join(chunks.dims, ", "),
                                      fmt::join(chunks.chunk_dims, ", ")));
  }
}

/// Copies the part of a chunk that is within the array, row by row.
void place_chunk(const H5Chunks& chunks, const Sizes& grid_place, std::span<const std::byte> chunk,
                 std::span<std::byte> out) {
  const std::size_t rank = chunks.dims.size();
  Sizes first(rank), count(rank), row(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    first[axis] = grid_place[axis] * chunks.chunk_dims[axis];
    count[axis] = std::min(chunks.chunk_dims[axis], chunks.dims[axis] - first[axis]);
  }
  const auto row_bytes = static_cast<std::size_t>(count.back() * chunks.element_bytes);
  count.back() = 1;  // each step copies one row
  do {
    std::int64_t from = 0, to = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      from = from * chunks.chunk_dims[axis] + row[axis];
      to = to * chunks.dims[axis] + first[axis] + row[axis];
    }
    std::memcpy(out.data() + to * chunks.element_bytes, chunk.data() + from * chunks.element_bytes,
                row_bytes);
  } while (advance(row, count));
}

std::size_t bytes_of(const Sizes& dims, std::int64_t element_bytes) {
  return static_cast<std::size_t>(
      std::accumulate(dims.begin(), dims.end(), element_bytes, std::multiplies<>()));
}

}  // namespace

H5Chunks find_chunks(const H5Dataset& dataset, const std::string& label) {
  const H5Properties creation(H5Dget_create_plist(dataset.get()));
  H5Chunks chunks;
  find_dims(dataset, creation.get(), chunks);
  check_grid(chunks, label);
  chunks.filters = filters_of(creation.get(), label);
  const Sizes grid = grid_of(chunks);
  Sizes place(grid.size(), 0);
  do {
    std::vector<hsize_t> first(place.begin(), place.end());
    for (std::size_t axis = 0; axis < first.size(); ++axis) {
      first[axis] *= static_cast<hsize_t>(chunks.chunk_dims[axis]);
    }
    unsigned skipped = 0;
    haddr_t offset = HADDR_UNDEF;
    hsize_t bytes = 0;
    const herr_t status =
        H5Dget_chunk_info_by_coord(dataset.get(), first.data(), &skipped, &offset, &bytes);
    if (status < 0 || offset == HADDR_UNDEF) {
      throw base::DataError(
          fmt::format("{}: expected a chunk at [{}], found none", label, fmt::join(first, ", ")));
    }
    chunks.chunks.push_back(
        {static_cast<std::int64_t>(offset), static_cast<std::int64_t>(bytes), skipped});
  } while (advance(place, grid));
  return chunks;
}

std::vector<std::byte> read_chunks(H5Storage& storage, const H5Chunks& chunks,
                                   const std::string& label) {
  std::vector<std::byte> out(bytes_of(chunks.dims, chunks.element_bytes));
  const std::size_t chunk_bytes = bytes_of(chunks.chunk_dims, chunks.element_bytes);
  Sizes place(chunks.dims.size(), 0);
  const Sizes grid = grid_of(chunks);
  for (const H5Chunks::Chunk& chunk : chunks.chunks) {
    if (chunk.bytes < 0 || chunk.bytes > storage.size()) {
      throw base::DataError(fmt::format("{}: offset {}: a chunk of {} bytes, the file has {}",
                                        label, chunk.offset, chunk.bytes, storage.size()));
    }
    std::vector<std::byte> stored(static_cast<std::size_t>(chunk.bytes));
    storage.read(chunk.offset, stored);
    try {
      stored = unfiltered(std::move(stored), chunks.filters, chunk.skipped, chunk_bytes,
                          static_cast<std::size_t>(chunks.element_bytes));
    } catch (const base::DataError& e) {
      throw base::DataError(fmt::format("{}: offset {}: expected a chunk of {} bytes, {}", label,
                                        chunk.offset, chunk_bytes, e.what()));
    }
    place_chunk(chunks, place, stored, out);
    advance(place, grid);
  }
  return out;
}

}  // namespace dataset
