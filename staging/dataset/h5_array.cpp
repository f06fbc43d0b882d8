// Numeric arrays in HDF5 files: their locations, and their values in native form.
#include "staging/dataset/h5_array.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runner/base/error.h"
#include "staging/dataset/h5_numbers.h"

namespace dataset {
namespace {

using Kind = H5Number::Kind;

/// Half precision, for which this version of HDF5 has no predefined type: a sign, 5 bits of
/// exponent and 10 of mantissa.
bool is_half(hid_t type) {
  constexpr std::size_t kSign = 15, kExponent = 10, kBias = 15;
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) == 2 && H5Tget_offset(type) == 0 &&
         H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
         sign == kSign && exponent == kExponent && exponent_bits == kSign - kExponent &&
         mantissa == 0 && mantissa_bits == kExponent && H5Tget_ebias(type) == kBias &&
         H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

/// Compares with all known types, since a damaged type may have its bits in odd places.
H5Number number_of(hid_t type) {
  struct Known {
    hid_t type;
    Kind kind;
    std::size_t bytes;
    std::endian order;
  };
  constexpr auto kLittle = std::endian::little, kBig = std::endian::big;
  const Known known[] = {
      {H5T_STD_I8LE, Kind::kSigned, 1, kLittle},  {H5T_STD_U8LE, Kind::kUnsigned, 1, kLittle},
      {H5T_STD_I8BE, Kind::kSigned, 1, kBig},     {H5T_STD_U8BE, Kind::kUnsigned, 1, kBig},
      {H5T_STD_I16LE, Kind::kSigned, 2, kLittle}, {H5T_STD_U16LE, Kind::kUnsigned, 2, kLittle},
      {H5T_STD_I16BE, Kind::kSigned, 2, kBig},    {H5T_STD_U16BE, Kind::kUnsigned, 2, kBig},
      {H5T_STD_I32LE, Kind::kSigned, 4, kLittle}, {H5T_STD_U32LE, Kind::kUnsigned, 4, kLittle},
      {H5T_STD_I32BE, Kind::kSigned, 4, kBig},    {H5T_STD_U32BE, Kind::kUnsigned, 4, kBig},
      {H5T_STD_I64LE, Kind::kSigned, 8, kLittle}, {H5T_STD_U64LE, Kind::kUnsigned, 8, kLittle},
      {H5T_STD_I64BE, Kind::kSigned, 8, kBig},    {H5T_STD_U64BE, Kind::kUnsigned, 8, kBig},
      {H5T_IEEE_F32LE, Kind::kFloat, 4, kLittle}, {H5T_IEEE_F32BE, Kind::kFloat, 4, kBig},
      {H5T_IEEE_F64LE, Kind::kFloat, 8, kLittle}, {H5T_IEEE_F64BE, Kind::kFloat, 8, kBig},
  };
  for (const Known& each : known) {
    if (H5Tequal(type, each.type) > 0) return {each.kind, each.bytes, each.order};
  }
  if (!is_half(type)) return {};
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return {};
  return {Kind::kFloat, 2, order == H5T_ORDER_LE ? kLittle : kBig};
}

/// Reverses the byte order of each value.
template <std::size_t kWidth>
void reverse_values(std::span<std::byte> values) {
  for (std::size_t at = 0; at + kWidth <= values.size(); at += kWidth) {
    std::reverse(values.begin() + static_cast<std::ptrdiff_t>(at),
                 values.begin() + static_cast<std::ptrdiff_t>(at + kWidth));
  }
}

void to_native(const H5Number& number, std::span<std::byte> values) {
  if (number.order == std::endian::native) return;
  if (number.bytes == 2) reverse_values<2>(values);
  if (number.bytes == 4) reverse_values<4>(values);
  if (number.bytes == 8) reverse_values<8>(values);
}

/// An access list of this class that follows no link to another file, which could be any file.
H5Properties within_this_file(hid_t access_class) {
  H5Properties access(H5Pcreate(access_class));
  H5Pset_elink_cb(
      access.get(),
      [](const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) -> herr_t {
        return -1;
      },
      nullptr);
  return access;
}

}  // namespace

bool is_h5(std::span<const std::byte> bytes) {
  static const std::string name = "memory";
  H5Memory memory(bytes, name);
  return find_h5(memory) >= 0;
}

H5Number number_of(const H5Dataset& dataset) {
  const H5Type type(H5Dget_type(dataset.get()));
  return number_of(type.get());
}

std::vector<hsize_t> dims_of(const H5Dataset& dataset) {
  const H5Space space(H5Dget_space(dataset.get()));
  const int rank = std::max(H5Sget_simple_extent_ndims(space.get()), 0);
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (!dims.empty()) H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return dims;
}

std::string type_in_words(const H5Dataset& dataset) {
  const H5Type type(H5Dget_type(dataset.get()));
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

H5Arrays::H5Arrays(H5Storage& storage, const std::string& name)
    : storage_(storage),
      name_(name),
      file_(open_h5(storage, name)),
      links_(within_this_file(H5P_LINK_ACCESS)),
      dataset_access_(within_this_file(H5P_DATASET_ACCESS)) {}

std::string H5Arrays::label(const std::string& path) const {
  return fmt::format("{}: {}", name_, path);
}

bool H5Arrays::has(const std::string& path) const {
  return H5Oexists_by_name(file_.get(), path.c_str(), links_.get()) > 0;
}

std::string H5Arrays::broken_link(const std::string& path) const {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end == 0 ? 0 : end + 1);
    const std::string step = path.substr(0, end);
    H5L_info_t link{};
    if (H5Lexists(file_.get(), step.c_str(), links_.get()) <= 0 ||
        H5Lget_info(file_.get(), step.c_str(), &link, links_.get()) < 0) {
      break;
    }
    if (has(step)) continue;
    if (link.type == H5L_TYPE_SOFT)
      return fmt::format(" ('{}' is a link that leads nowhere)", step);
    if (link.type == H5L_TYPE_EXTERNAL) {
      return fmt::format(" ('{}' is a link to another file, which is not followed)", step);
    }
  }
  return "";
}

std::string H5Arrays::names() const {
  constexpr hsize_t kMost = 4;
  H5G_info_t root{};
  if (H5Gget_info(file_.get(), &root) < 0 || root.nlinks == 0) return "no names";
  std::string names;
  for (hsize_t i = 0; i < std::min(root.nlinks, kMost); ++i) {
    std::array<char, 64> name{};
    if (H5Lget_name_by_idx(file_.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(),
                           name.size(), H5P_DEFAULT) < 0) {
      continue;
    }
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", base::printable(name.data()));
  }
  return names + (root.nlinks > kMost ? ", ..." : "");
}

std::vector<std::string> H5Arrays::all_names() const {
  std::vector<std::string> found;
  const auto visit = [](hid_t, const char* name, const H5O_info_t* info, void* out) -> herr_t {
    if (info->type == H5O_TYPE_DATASET) {
      static_cast<std::vector<std::string>*>(out)->push_back(name);
    }
    return 0;
  };
  if (H5Ovisit2(file_.get(), H5_INDEX_NAME, H5_ITER_INC, visit, &found, H5O_INFO_BASIC) < 0) {
    fail("/", "cannot be listed");
  }
  std::sort(found.begin(), found.end());
  return found;
}

H5Dataset H5Arrays::open(const std::string& path) const {
  H5Dataset dataset(H5Dopen2(file_.get(), path.c_str(), dataset_access_.get()));
  if (!dataset) {
    H5O_info_t found{};
    const bool is_group =
        H5Oget_info_by_name2(file_.get(), path.c_str(), &found, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
        found.type == H5O_TYPE_GROUP;
    if (is_group) throw base::DataError(label(path) + ": expected a dataset, found a group");
    fail(path, "expected a dataset");
  }
  return dataset;
}

/// Refuses values stored in other files, which could be any file.
StoredArray H5Arrays::find(const H5Dataset& dataset, const std::string& path) const {
  const H5Properties creation(H5Dget_create_plist(dataset.get()));
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  StoredArray array;
  if (layout == H5D_CHUNKED) {
    array.chunks = find_chunks(dataset, label(path));
    for (H5Chunks::Chunk& chunk : array.chunks.chunks) {
      // read_chunks() refuses others.
      if (chunk.offset >= 0 && chunk.offset < storage_.size()) chunk.offset += storage_.begin();
    }
  } else if (layout == H5D_COMPACT) {
    array = sized(dataset, path);
    array.here = read_compact(dataset, array, path);
  } else if (layout == H5D_CONTIGUOUS && H5Pget_external_count(creation.get()) == 0) {
    array = sized(dataset, path);
    array.offset = place_of(dataset, array, path);
  } else {
    throw base::DataError(label(path) + ": expected values in this file, found them elsewhere");
  }
  array.label = label(path);
  array.number = number_of(dataset);
  return array;
}

StoredArray H5Arrays::find_floats(const std::string& path, std::int64_t values) const {
  const H5Dataset dataset = open(path);
  const H5Space space(H5Dget_space(dataset.get()));
  const hssize_t found = H5Sget_simple_extent_npoints(space.get());
  if (!number_of(dataset).is_float() || found != values) {
    throw base::DataError(fmt::format("{}: expected {} values of float32 or float64, found {} {}",
                                      label(path), values, found, type_in_words(dataset)));
  }
  return find(dataset, path);
}

/// Checks the stored size: HDF5 trusts a damaged one, and would read beyond the end of its own
/// buffer.
StoredArray H5Arrays::sized(const H5Dataset& dataset, const std::string& path) const {
  const H5Type type(H5Dget_type(dataset.get()));
  const H5Space space(H5Dget_space(dataset.get()));
  StoredArray array;
  array.values = H5Sget_simple_extent_npoints(space.get());
  array.value_bytes = static_cast<std::int64_t>(H5Tget_size(type.get()));
  const hsize_t found = H5Dget_storage_size(dataset.get());
  const auto bytes = static_cast<hsize_t>(array.value_bytes);
  if (bytes == 0 || found % bytes != 0 || found / bytes != static_cast<hsize_t>(array.values)) {
    throw base::DataError(fmt::format("{}: expected {} values of {} bytes, found {} bytes",
                                      label(path), array.values, bytes, found));
  }
  return array;
}

std::int64_t H5Arrays::place_of(const H5Dataset& dataset, const StoredArray& array,
                                const std::string& path) const {
  const auto offset = static_cast<std::int64_t>(H5Dget_offset(dataset.get()));
  const std::int64_t bytes = array.values * array.value_bytes;
  const std::int64_t size = storage_.size() - storage_.begin();
  if (offset < 0 || offset > size || bytes > size - offset) {
    throw base::DataError(fmt::format("{}: expected {} bytes at offset {}, the file has {}",
                                      label(path), bytes, offset, size));
  }
  return storage_.begin() + offset;
}

std::vector<std::byte> H5Arrays::read_compact(const H5Dataset& dataset, const StoredArray& array,
                                              const std::string& path) const {
  const H5Type type(H5Dget_type(dataset.get()));
  std::vector<std::byte> bytes(static_cast<std::size_t>(array.values * array.value_bytes));
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
    fail(path, "read failed");
  }
  return bytes;
}

void H5Arrays::fail(const std::string& path, const char* what) const {
  storage_.rethrow();
  throw base::DataError(fmt::format("{}: {}: {}", label(path), what, h5_reason()));
}

std::vector<std::byte> read_values(H5Storage& storage, const StoredArray& array) {
  std::vector<std::byte> values;
  if (!array.chunks.chunks.empty()) {
    values = read_chunks(storage, array.chunks, array.label);
  } else if (array.offset < 0) {
    values = array.here;
  } else {
    values.resize(static_cast<std::size_t>(array.values * array.value_bytes));
    storage.read(array.offset, values);
  }
  to_native(array.number, values);
  return values;
}

void read_values(H5Storage& storage, const StoredArray& array, std::span<std::byte> out) {
  const bool is_one_piece = array.offset >= 0 && array.chunks.chunks.empty();
  const std::vector<std::byte> values =
      is_one_piece ? std::vector<std::byte>() : read_values(storage, array);
  const auto found =
      is_one_piece ? static_cast<std::size_t>(array.values * array.value_bytes) : values.size();
  if (found != out.size()) {
    throw base::DataError(
        fmt::format("{}: expected {} bytes, found {}", array.label, out.size(), found));
  }
  if (is_one_piece) {
    storage.read(array.offset, out);
    to_native(array.number, out);
  } else {
    std::copy(values.begin(), values.end(), out.begin());
  }
}

void read_floats(H5Storage& storage, const StoredArray& array, std::span<float> out) {
  if (array.number.bytes == sizeof(float)) {
    read_values(storage, array, std::as_writable_bytes(out));
    return;
  }
  const std::vector<std::byte> stored = read_values(storage, array);
  if (stored.size() != out.size() * array.number.bytes) {
    throw base::DataError(fmt::format("{}: expected {} values, found {} bytes", array.label,
                                      out.size(), stored.size()));
  }
  auto next = out.begin();
  for_each_number(array.number, stored, [&](double value) { *next++ = static_cast<float>(value); });
}

void write_h5_array(const H5FileHandle& file, const char* path, hid_t type,
                    const std::vector<hsize_t>& dims, const void* data) {
  const H5Properties creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(creation.get(), H5D_CONTIGUOUS);
  // A time of creation would make files of equal content differ.
  H5Pset_obj_track_times(creation.get(), false);
  const H5Properties links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const H5Space space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const H5Dataset dataset(
      H5Dcreate2(file.get(), path, type, space.get(), links.get(), creation.get(), H5P_DEFAULT));
  if (!dataset || H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    throw base::SystemError(fmt::format("{}: cannot be encoded: {}", path, h5_reason()));
  }
}

void flush_h5(const H5FileHandle& file, const std::string& name) {
  if (H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0) {
    throw base::SystemError(name + ": cannot be encoded: " + h5_reason());
  }
}

}  // namespace dataset
