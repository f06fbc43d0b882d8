// Universes in HDF5.
// Hides HDF5's calls.
#include "staging/dataset/universe_h5.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runner/base/error.h"
#include "staging/dataset/h5_chunks.h"

namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "counts are copied as they lie");

/// Where the values of an array lie.
struct Stored {
  std::int64_t values = 0, value_bytes = 0;
  std::int64_t offset = -1;     ///< in the file, when they lie in one piece
  std::vector<std::byte> here;  ///< when they lie among the headers
  H5Chunks chunks;              ///< else
};

std::vector<std::byte> read(H5Storage& storage, const Stored& stored, const std::string& label) {
  if (!stored.chunks.chunks.empty()) return read_chunks(storage, stored.chunks, label);
  if (stored.offset < 0) return stored.here;
  std::vector<std::byte> bytes(static_cast<std::size_t>(stored.values * stored.value_bytes));
  storage.read(stored.offset, bytes);
  return bytes;
}

std::string in_words(const H5Type& type) {
  const std::size_t bits = 8 * H5Tget_size(type.get());
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER:
      return fmt::format("{}int{}", H5Tget_sign(type.get()) == H5T_SGN_2 ? "" : "u", bits);
    case H5T_FLOAT:
      return fmt::format("float{}", bits);
    default:
      return "another type";
  }
}

std::vector<hsize_t> dims_of(const H5Dataset& dataset) {
  const H5Space space(H5Dget_space(dataset.get()));
  const int rank = std::max(H5Sget_simple_extent_ndims(space.get()), 0);
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (!dims.empty()) H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return dims;
}

bool is(const H5Type& type, hid_t other) { return H5Tequal(type.get(), other) > 0; }

/// From one byte order to the other.
void reverse_each(std::span<std::byte> values, std::size_t width) {
  for (; values.size() >= width; values = values.subspan(width)) {
    std::reverse(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(width));
  }
}

/// A sample's file, open. All of its life lies within an H5Section.
class Reader {
 public:
  Reader(H5Storage& storage, const std::string& name)
      : storage_(storage), name_(name), file_(open_h5(storage, name)) {
    is_raw_ = !has("x") && has("full");
  }

  std::string counts_label() const { return label(counts_name()); }

  Stored find_counts(const UniverseShape& shape, std::endian& order) const {
    const H5Dataset dataset = open(counts_name());
    const H5Type type(H5Dget_type(dataset.get()));
    const bool is_little = is(type, H5T_STD_I16LE), is_int16 = is_little || is(type, H5T_STD_I16BE);
    const std::vector<hsize_t> found = dims_of(dataset);
    std::vector<hsize_t> expected(shape.extents.begin(), shape.extents.end());
    expected.push_back(static_cast<hsize_t>(shape.channels));
    if (!is_int16 || found != expected) {
      throw base::DataError(fmt::format(
          "{}: expected int16 of shape [{}], found {} of shape [{}]", counts_label(),
          fmt::join(expected, ", "), is_int16 ? "int16" : in_words(type), fmt::join(found, ", ")));
    }
    order = is_little ? std::endian::little : std::endian::big;
    return find(dataset, counts_name());
  }

  /// HDF5's own conversion writes anywhere when a damaged type has its bits in odd places.
  std::array<float, 4> targets() const {
    std::array<float, 4> targets{};
    const std::string array = label(targets_name());
    const H5Dataset dataset = open(targets_name());
    const H5Type type(H5Dget_type(dataset.get()));
    const H5Space space(H5Dget_space(dataset.get()));
    const hssize_t values = H5Sget_simple_extent_npoints(space.get());
    const bool is_big = is(type, H5T_IEEE_F32BE) || is(type, H5T_IEEE_F64BE);
    const bool is_double = is(type, H5T_IEEE_F64LE) || is(type, H5T_IEEE_F64BE);
    if ((!is_big && !is_double && !is(type, H5T_IEEE_F32LE)) ||
        values != hssize_t{targets.size()}) {
      throw base::DataError(fmt::format("{}: expected {} values of float32 or float64, found {} {}",
                                        array, targets.size(), values, in_words(type)));
    }
    std::vector<std::byte> bytes = read(storage_, find(dataset, targets_name()), array);
    const std::size_t width = is_double ? sizeof(double) : sizeof(float);
    if (is_big) reverse_each(bytes, width);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      double value = 0.0;
      std::memcpy(is_double ? static_cast<void*>(&value) : &targets[i], &bytes[i * width], width);
      if (is_double) targets[i] = static_cast<float>(value);
    }
    return targets;
  }

 private:
  const char* counts_name() const { return is_raw_ ? "full" : "x"; }
  const char* targets_name() const { return is_raw_ ? "unitPar" : "y"; }
  std::string label(const char* dataset) const { return fmt::format("{}: {}", name_, dataset); }

  bool has(const char* name) const {
    H5L_info_t link{};
    return H5Lexists(file_.get(), name, H5P_DEFAULT) > 0 &&
           H5Lget_info(file_.get(), name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
  }

  H5Dataset open(const char* name) const {
    if (!has(name)) {
      throw base::DataError(fmt::format("{}: expected datasets '{}' and '{}', found no '{}'", name_,
                                        counts_name(), targets_name(), name));
    }
    H5Dataset dataset(H5Dopen2(file_.get(), name, H5P_DEFAULT));
    if (!dataset) fail(label(name), "expected a dataset");
    return dataset;
  }

  /// Refuses values in other files, which could be any.
  Stored find(const H5Dataset& dataset, const char* name) const {
    const H5Properties creation(H5Dget_create_plist(dataset.get()));
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    Stored stored;
    if (layout == H5D_CHUNKED) {
      stored.chunks = find_chunks(dataset, label(name));
    } else if (layout == H5D_COMPACT) {
      stored = size_of(dataset, name);
      stored.here = read_compact(dataset, stored, name);
    } else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation.get()) == 0) {
      stored = size_of(dataset, name);
      stored.offset = place_of(dataset, stored, name);
    } else {
      throw base::DataError(label(name) + ": expected values in this file, found them elsewhere");
    }
    return stored;
  }

  /// HDF5 takes a damaged size as it is, and would read what lies behind its own buffer.
  Stored size_of(const H5Dataset& dataset, const char* name) const {
    const H5Type type(H5Dget_type(dataset.get()));
    const H5Space space(H5Dget_space(dataset.get()));
    Stored stored;
    stored.values = H5Sget_simple_extent_npoints(space.get());
    stored.value_bytes = static_cast<std::int64_t>(H5Tget_size(type.get()));
    const hsize_t found = H5Dget_storage_size(dataset.get());
    const auto bytes = static_cast<hsize_t>(stored.value_bytes);
    if (bytes == 0 || found % bytes != 0 || found / bytes != static_cast<hsize_t>(stored.values)) {
      throw base::DataError(fmt::format("{}: expected {} values of {} bytes, found {} bytes",
                                        label(name), stored.values, bytes, found));
    }
    return stored;
  }

  std::int64_t place_of(const H5Dataset& dataset, const Stored& stored, const char* name) const {
    const auto offset = static_cast<std::int64_t>(H5Dget_offset(dataset.get()));
    const std::int64_t bytes = stored.values * stored.value_bytes, size = storage_.size();
    if (offset < 0 || offset > size || bytes > size - offset) {
      throw base::DataError(fmt::format("{}: expected {} bytes at offset {}, the file has {}",
                                        label(name), bytes, offset, size));
    }
    return offset;
  }

  std::vector<std::byte> read_compact(const H5Dataset& dataset, const Stored& stored,
                                      const char* name) const {
    const H5Type type(H5Dget_type(dataset.get()));
    std::vector<std::byte> bytes(static_cast<std::size_t>(stored.values * stored.value_bytes));
    if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
      fail(label(name), "read failed");
    }
    return bytes;
  }

  [[noreturn]] void fail(const std::string& label, const char* what) const {
    storage_.rethrow();
    throw base::DataError(fmt::format("{}: {}: {}", label, what, h5_reason()));
  }

  H5Storage& storage_;
  const std::string& name_;
  H5FileHandle file_;
  bool is_raw_ = false;  ///< a whole simulation, under the names of its authors
};

void write(const H5FileHandle& file, const char* name, hid_t stored, hid_t given,
           const std::vector<hsize_t>& dims, const void* data) {
  const H5Properties creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  // Else the moment of writing would be in the file, and equal universes would have other bytes.
  H5Pset_obj_track_times(creation.get(), false);
  const H5Space space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const H5Dataset dataset(
      H5Dcreate2(file.get(), name, stored, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  if (!dataset || H5Dwrite(dataset.get(), given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    throw base::SystemError(fmt::format("{}: cannot be encoded: {}", name, h5_reason()));
  }
}

}  // namespace

bool is_h5(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> kSignature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= kSignature.size() &&
         std::equal(kSignature.begin(), kSignature.end(), bytes.begin(),
                    [](unsigned char c, std::byte b) { return std::byte{c} == b; });
}

UniverseInH5 look_into_h5(H5Storage& storage, const UniverseShape& shape, OtherCounts others,
                          const std::string& name) {
  UniverseInH5 found;
  Stored counts;
  std::string label;
  auto order = std::endian::little;
  {
    const H5Section section;
    const Reader reader(storage, name);
    counts = reader.find_counts(shape, order);
    found.targets = reader.targets();
    label = reader.counts_label();
  }
  if (order == std::endian::little && counts.offset >= 0) {
    found.offset = counts.offset;
  } else if (others == OtherCounts::kConvert) {
    found.counts = read(storage, counts, label);
    if (order == std::endian::big) reverse_each(found.counts, sizeof(std::int16_t));
  }
  return found;
}

std::vector<std::byte> encode_h5(const Universe& universe) {
  constexpr std::size_t kHeaders = 16384;
  H5Buffer buffer;
  buffer.bytes.reserve(universe.counts.size() * sizeof(std::int16_t) + kHeaders);
  const H5Section section;
  std::vector<hsize_t> dims(universe.extents.begin(), universe.extents.end());
  dims.push_back(static_cast<hsize_t>(universe.channels));
  {
    const H5FileHandle file = create_h5(buffer, H5P_DEFAULT, "universe");
    // The small one first, so that it lies beside the headers.
    write(file, "y", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {universe.targets.size()},
          universe.targets.data());
    write(file, "x", H5T_STD_I16LE, H5T_NATIVE_INT16, dims, universe.counts.data());
    if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0) {
      throw base::SystemError("universe: cannot be encoded: " + h5_reason());
    }
  }
  return std::move(buffer.bytes);
}

}  // namespace dataset
