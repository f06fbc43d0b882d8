// The layout of checkpoints.
#include "staging/checkpoint_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "runner/base/error.h"
#include "runner/together.h"
#include "staging/h5_file.h"

namespace staging {
namespace {

/// Large enough for a device, small enough to be still in the cache when written after hashing.
constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
constexpr std::int64_t kSmallestBlock = 512;  // HDF5's minimum user block

hid_t h5_type(base::ElementType element) {
  switch (element) {
    case base::ElementType::kFloat32:
      return H5T_IEEE_F32LE;
    case base::ElementType::kFloat64:
      return H5T_IEEE_F64LE;
    case base::ElementType::kInt64:
      return H5T_STD_I64LE;
  }
  return H5I_INVALID_HID;
}

void check_rows(const base::StateArray& array, std::vector<HeldRows> held) {
  std::sort(held.begin(), held.end(),
            [](const HeldRows& a, const HeldRows& b) { return a.first < b.first; });
  std::int64_t next = 0;
  for (const HeldRows& rows : held) {
    if (rows.count > 0 && rows.first != next) break;
    next += rows.count;
  }
  if (next != array.shape.front()) {
    throw base::Error(base::ExitCode::kInternal,
                      fmt::format("checkpoint: {}: expected each of {} rows on one rank, found a "
                                  "fault at row {}",
                                  array.name, array.shape.front(), next));
  }
}

void cut(std::int64_t bytes, std::vector<CheckpointSegment>& segments) {
  for (; bytes > 0; bytes -= std::min(bytes, kPieceBytes)) {
    segments.push_back({std::min(bytes, kPieceBytes), 0});
  }
}

void require(bool ok, const std::string& path, const std::string& what) {
  if (!ok) throw base::SystemError(fmt::format("{}: {}: {}", path, what, h5_reason()));
}

std::int64_t create_array(const H5FileHandle& file, const CheckpointArray& array,
                          const std::string& path) {
  const H5Properties links(H5Pcreate(H5P_LINK_CREATE)), layout(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  H5Pset_layout(layout.get(), H5D_CONTIGUOUS);
  H5Pset_obj_track_times(layout.get(), false);  // the same state gives the same bytes
  H5Pset_alloc_time(layout.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(layout.get(), H5D_FILL_TIME_NEVER);
  const std::vector<hsize_t> dims = to_dims(array.shape);
  const H5Space space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const H5Dataset dataset(H5Dcreate2(file.get(), array.name.c_str(), h5_type(array.element),
                                     space.get(), links.get(), layout.get(), H5P_DEFAULT));
  require(static_cast<bool>(dataset), path, array.name + ": cannot be created");
  const haddr_t offset = H5Dget_offset(dataset.get());
  require(offset != HADDR_UNDEF, path, array.name + ": has no place");
  return static_cast<std::int64_t>(offset);
}

}  // namespace

std::vector<std::vector<HeldRows>> gather_held_rows(const runner::Communicator& world,
                                                    const std::vector<base::StateArray>& arrays) {
  std::vector<std::int64_t> mine;
  for (const base::StateArray& array : arrays) {
    if (array.holding == base::Holding::kEveryRank) continue;
    mine.push_back(array.first_row);
    mine.push_back(array.rows);
  }
  const auto all = world.gather(std::span<const std::int64_t>(mine), 0);
  std::vector<std::vector<HeldRows>> held(arrays.size());
  runner::on_rank_0(world, [&] {
    std::size_t place = 0;
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      if (arrays[a].holding == base::Holding::kEveryRank) continue;
      for (std::size_t r = 0; r < static_cast<std::size_t>(world.size()); ++r) {
        const std::size_t at = r * mine.size() + place;
        held[a].push_back({all[at], all[at + 1]});
      }
      check_rows(arrays[a], held[a]);
      place += 2;
    }
  });
  return held;
}

CheckpointHeader plan_pieces(const std::vector<base::StateArray>& arrays,
                             const std::vector<std::vector<HeldRows>>& held, std::string about) {
  CheckpointHeader header;
  header.about = std::move(about);
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    CheckpointArray array{arrays[a].name, arrays[a].element, arrays[a].shape, 0, {}};
    if (arrays[a].holding == base::Holding::kEveryRank) {
      cut(array.total_bytes(), array.segments);
    } else {
      std::vector<HeldRows> rows = held[a];
      std::sort(rows.begin(), rows.end(),
                [](const HeldRows& x, const HeldRows& y) { return x.first < y.first; });
      for (const HeldRows& one : rows) cut(one.count * arrays[a].row_bytes(), array.segments);
    }
    header.arrays.push_back(std::move(array));
  }
  return header;
}

SparseBytes lay_out(CheckpointHeader& header, const std::string& name) {
  const H5Section section;
  // Reserves 16 digits for each number still 0: the arrays' offsets and the two sizes.
  constexpr std::int64_t kOffsetDigits = 16;
  const auto length = static_cast<std::int64_t>(to_text(header).size() +
                                                (header.arrays.size() + 2) * kOffsetDigits);
  header.block_bytes = std::max(
      kSmallestBlock, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length))));
  SparseBytes frame;
  {
    const H5Properties creation(H5Pcreate(H5P_FILE_CREATE));
    H5Pset_userblock(creation.get(), static_cast<hsize_t>(header.block_bytes));
    SparseStorage storage(frame);
    const H5FileHandle file = dataset::create_h5(storage, creation.get(), name);
    for (CheckpointArray& array : header.arrays) array.offset = create_array(file, array, name);
    require(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0, name, "cannot be laid out");
  }
  std::sort(header.arrays.begin(), header.arrays.end(),
            [](const CheckpointArray& a, const CheckpointArray& b) { return a.offset < b.offset; });
  header.file_bytes = frame.size();
  return frame;
}

std::vector<Piece> pieces_of(const CheckpointHeader& header,
                             const std::vector<base::StateArray>& arrays, int rank, int ranks) {
  std::map<std::string, std::size_t> index;
  std::int64_t common = 0, before = 0;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    index[arrays[a].name] = a;
    if (arrays[a].holding == base::Holding::kEveryRank) common += arrays[a].total_bytes();
  }
  std::vector<Piece> pieces;
  for (std::size_t h = 0; h < header.arrays.size(); ++h) {
    const CheckpointArray& placed = header.arrays[h];
    const std::size_t a = index.at(placed.name);
    const base::StateArray& array = arrays[a];
    const bool is_common = array.holding == base::Holding::kEveryRank;
    const std::int64_t own = is_common ? 0 : array.first_row * array.row_bytes();
    const std::int64_t own_end = own + array.rows * array.row_bytes();
    std::int64_t at = 0;
    for (std::size_t s = 0; s < placed.segments.size(); ++s) {
      const std::int64_t bytes = placed.segments[s].bytes;
      const bool is_mine = is_common ? before * ranks / common == rank : at >= own && at < own_end;
      if (is_mine) pieces.push_back({h, s, a, at - own, placed.offset + at, bytes});
      if (is_common) before += bytes;
      at += bytes;
    }
  }
  return pieces;
}

}  // namespace staging
