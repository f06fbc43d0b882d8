// HDF5 files whose datasets are chosen by bytes.
#include "tests/fuzz/made_h5.h"

#include <algorithm>
#include <array>
#include <string>

#include "staging/dataset/h5_storage.h"

namespace fuzz {
namespace {

using dataset::H5Dataset;
using dataset::H5FileHandle;
using dataset::H5Properties;
using dataset::H5Space;
using dataset::H5Type;
using H5Group = base::UniqueHandle<dataset::H5Traits<H5Gclose>>;
using H5Attribute = base::UniqueHandle<dataset::H5Traits<H5Aclose>>;
using Dims = std::vector<hsize_t>;

constexpr std::array kNames = {"x",
                               "y",
                               "full",
                               "unitPar",
                               "climate/data",
                               "climate/labels_0",
                               "climate/minval",
                               "climate/maxval",
                               "module.weight",
                               "module.steps",
                               "climate",
                               "other"};

class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool is_empty() const { return bytes_.empty(); }
  /// The next byte; 0 behind the last one.
  unsigned byte() {
    if (bytes_.empty()) return 0;
    const unsigned value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  unsigned below(std::size_t limit) { return byte() % static_cast<unsigned>(limit); }
  bool yes() { return byte() % 2 != 0; }
  /// `count` values' bytes: the next ones, again and again.
  std::vector<std::uint8_t> values(std::size_t count) {
    const std::size_t period = 1 + below(16);
    std::vector<std::uint8_t> repeated(period), all(count);
    for (std::uint8_t& value : repeated) value = static_cast<std::uint8_t>(byte());
    for (std::size_t i = 0; i < count; ++i) all[i] = repeated[i % period];
    return all;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A float of 16 bits, or one that no processor knows.
H5Type odd_float(Choices& choices) {
  H5Type type(H5Tcopy(H5T_IEEE_F32LE));
  if (choices.yes()) {
    H5Tset_fields(type.get(), 15, 10, 5, 0, 10);
    H5Tset_size(type.get(), 2);
    H5Tset_ebias(type.get(), 15);
  } else {
    H5Tset_ebias(type.get(), choices.byte());
  }
  return type;
}

/// An integer of fewer bits than its bytes have.
H5Type odd_integer(Choices& choices) {
  H5Type type(H5Tcopy(H5T_STD_I32LE));
  H5Tset_precision(type.get(), 1 + choices.below(32));
  H5Tset_offset(type.get(), choices.below(8));
  return type;
}

H5Type derived_type(Choices& choices) {
  const hsize_t two = 2;
  switch (choices.below(8)) {
    case 0:
      return H5Type(H5Tarray_create2(H5T_IEEE_F32LE, 1, &two));
    case 1:
      return H5Type(H5Tenum_create(H5T_STD_I8LE));
    case 2: {
      H5Type type(H5Tcreate(H5T_COMPOUND, 8));
      H5Tinsert(type.get(), "r", 0, H5T_IEEE_F32LE);
      H5Tinsert(type.get(), "i", 4, H5T_IEEE_F32LE);
      return type;
    }
    case 3:
      return H5Type(H5Tcreate(H5T_OPAQUE, 4));
    case 4:
      return H5Type(H5Tvlen_create(H5T_IEEE_F32LE));
    case 5:
      return H5Type(H5Tcopy(choices.yes() ? H5T_C_S1 : H5T_UNIX_D32LE));
    case 6:
      return odd_float(choices);
    default:
      return odd_integer(choices);
  }
}

H5Type type_of(Choices& choices) {
  const std::array simple = {H5T_STD_I16LE, H5T_IEEE_F32LE, H5T_STD_I64LE, H5T_IEEE_F64LE,
                             H5T_STD_I16BE, H5T_IEEE_F32BE, H5T_STD_U8LE,  H5T_STD_I8LE,
                             H5T_STD_U16LE, H5T_STD_I32BE,  H5T_STD_U64LE, H5T_IEEE_F64BE};
  const unsigned choice = choices.below(simple.size() + 4);
  return choice < simple.size() ? H5Type(H5Tcopy(simple[choice])) : derived_type(choices);
}

Dims dims_of(Choices& choices) {
  // The shapes that readers expect, so that others do not hide what comes after.
  const std::array<Dims, 6> expected = {Dims{2, 2, 2, 2}, Dims{4},  Dims{2, 3, 16},
                                        Dims{2, 3},       Dims{16}, Dims{1}};
  const unsigned choice = choices.below(expected.size() + 2);
  if (choice < expected.size()) return expected[choice];
  Dims dims(choices.below(6));
  for (hsize_t& extent : dims) extent = choices.below(6);
  return dims;
}

/// Each kind once, and those that pack elements first: HDF5 writes beyond its buffers where it
/// packs elements that another filter has changed.
void add_filters(Choices& choices, hid_t creation) {
  unsigned added = 0;
  for (unsigned more = choices.below(4); more > 0; --more) {
    const unsigned kind = choices.below(6);
    const bool packs = kind >= 3;
    if ((added & 1U << kind) != 0 || (packs && added != 0)) continue;
    added |= 1U << kind;
    switch (kind) {
      case 0:
        H5Pset_deflate(creation, choices.below(10));
        break;
      case 1:
        H5Pset_shuffle(creation);
        break;
      case 2:
        H5Pset_fletcher32(creation);
        break;
      case 3:
        H5Pset_scaleoffset(creation, H5Z_SO_INT, static_cast<int>(choices.below(20)));
        break;
      case 4:
        H5Pset_scaleoffset(creation, H5Z_SO_FLOAT_DSCALE, static_cast<int>(choices.below(12)));
        break;
      default:
        H5Pset_nbit(creation);
    }
  }
}

H5Properties creation_of(Choices& choices, const Dims& dims) {
  H5Properties creation(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(creation.get(), false);
  switch (choices.below(4)) {
    case 0:
      break;
    case 1:
      H5Pset_layout(creation.get(), H5D_COMPACT);
      break;
    case 2:
      H5Pset_external(creation.get(), "none/none.raw", 0,
                      H5F_UNLIMITED);  // a folder that is not there
      break;
    default: {
      Dims chunk = dims;
      for (hsize_t& extent : chunk) extent = 1 + choices.below(4);
      H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
      add_filters(choices, creation.get());
    }
  }
  if (choices.yes()) H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
  if (choices.yes()) H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
  return creation;
}

H5Space space_of(Choices& choices, const Dims& dims) {
  if (choices.below(8) == 1) return H5Space(H5Screate(H5S_NULL));
  if (dims.empty()) return H5Space(H5Screate(H5S_SCALAR));
  Dims most = dims;
  if (choices.yes()) most[0] = H5S_UNLIMITED;
  return H5Space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.data()));
}

void add_attribute(Choices& choices, hid_t object) {
  const H5Type type = type_of(choices);
  const hsize_t extent = 1 + choices.below(8);
  const H5Space space(H5Screate_simple(1, &extent, nullptr));
  const H5Attribute made(
      H5Acreate2(object, "scale", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
}

bool holds_pointers(const H5Type& type) {
  return H5Tdetect_class(type.get(), H5T_VLEN) > 0 || H5Tis_variable_str(type.get()) > 0;
}

void write_values(Choices& choices, const H5Dataset& dataset, const H5Type& type) {
  const H5Space space(H5Dget_space(dataset.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 1 || holds_pointers(type)) return;
  const auto values = choices.values(static_cast<std::size_t>(count) * H5Tget_size(type.get()));
  H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

/// Writes the first chunk's bytes as they shall lie in the file.
void write_raw_chunk(Choices& choices, const H5Dataset& dataset, const Dims& dims) {
  const Dims first(dims.size(), 0);
  const unsigned skipped = choices.below(4);
  const auto raw = choices.values(1 + choices.below(128));
  H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, skipped, first.data(), raw.size(), raw.data());
}

/// Whether the dataset has chunks with places. HDF5 crashes when it writes a chunk to another.
bool has_chunks(const H5Dataset& dataset) {
  const H5Properties creation(H5Dget_create_plist(dataset.get()));
  const H5Space space(H5Dget_space(dataset.get()));
  return H5Pget_layout(creation.get()) == H5D_CHUNKED &&
         H5Sget_simple_extent_npoints(space.get()) > 0;
}

void add_dataset(Choices& choices, hid_t file, const char* name) {
  const H5Type type = type_of(choices);
  const Dims dims = dims_of(choices);
  const H5Properties creation = creation_of(choices, dims);
  const H5Space space = space_of(choices, dims);
  const H5Properties links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const H5Dataset dataset(
      H5Dcreate2(file, name, type.get(), space.get(), links.get(), creation.get(), H5P_DEFAULT));
  if (!dataset) return;
  if (choices.below(8) != 7) write_values(choices, dataset, type);
  if (choices.below(4) == 3 && has_chunks(dataset)) {
    write_raw_chunk(choices, dataset, dims);
  }
  if (choices.below(4) == 3) add_attribute(choices, dataset.get());
}

void add_link(Choices& choices, hid_t file, const char* name) {
  const H5Properties links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const char* const target = kNames[choices.below(kNames.size())];
  switch (choices.below(6)) {
    case 0:
      H5Lcreate_soft(target, file, name, links.get(), H5P_DEFAULT);
      break;
    case 1:
      H5Lcreate_hard(file, target, file, name, links.get(), H5P_DEFAULT);
      break;
    case 2:
      H5Lcreate_external("none.h5", target, file, name, links.get(), H5P_DEFAULT);
      break;
    case 3: {
      const H5Group group(H5Gcreate2(file, name, links.get(), H5P_DEFAULT, H5P_DEFAULT));
      break;
    }
    case 4: {
      const H5Type type(H5Tcopy(H5T_STD_I16LE));
      H5Tcommit2(file, name, type.get(), links.get(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    }
    default:
      add_dataset(choices, file, name);
  }
}

}  // namespace

std::vector<std::byte> make_h5(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kMostDatasets = 6, kUserBlock = 512;
  Choices choices(bytes);
  std::vector<std::byte> made;
  dataset::H5Buffer buffer;
  const dataset::H5Section section;
  {
    const H5FileHandle file = dataset::create_h5(buffer, H5P_DEFAULT, "made.h5");
    if (choices.yes()) H5Fset_libver_bounds(file.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const bool has_user_block = choices.below(8) == 7;
    if (has_user_block) made.assign(kUserBlock, std::byte{'u'});
    for (std::size_t i = 0; i < kMostDatasets && !choices.is_empty(); ++i) {
      const char* const name = kNames[choices.below(kNames.size())];
      if (choices.below(8) == 7) {
        add_link(choices, file.get(), name);
      } else {
        add_dataset(choices, file.get(), name);
      }
    }
    H5Fflush(file.get(), H5F_SCOPE_GLOBAL);
  }
  made.insert(made.end(), buffer.bytes.begin(), buffer.bytes.end());
  return made;
}

}  // namespace fuzz
