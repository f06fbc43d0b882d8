// Universes in HDF5.
#include "staging/dataset/universe_h5.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <bit>
#include <utility>

#include "runner/base/error.h"
#include "staging/dataset/h5_array.h"

namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "counts are copied as they lie");

constexpr std::int64_t kTargets = 4;

/// A sample's open file. Must be created, used and destroyed within an H5Section.
class Reader {
 public:
  Reader(H5Storage& storage, const std::string& name) : name_(name), arrays_(storage, name) {
    is_raw_ = !arrays_.has("x") && arrays_.has("full");
  }

  StoredArray find_counts(const UniverseShape& shape) const {
    require(counts_name());
    const H5Dataset dataset = arrays_.open(counts_name());
    const H5Number number = number_of(dataset);
    const bool is_int16 =
        number.kind == H5Number::Kind::kSigned && number.bytes == sizeof(std::int16_t);
    const std::vector<hsize_t> found = dims_of(dataset);
    std::vector<hsize_t> expected(shape.extents.begin(), shape.extents.end());
    expected.push_back(static_cast<hsize_t>(shape.channels));
    if (!is_int16 || found != expected) {
      throw base::DataError(fmt::format("{}: expected int16 of shape [{}], found {} of shape [{}]",
                                        arrays_.label(counts_name()), fmt::join(expected, ", "),
                                        type_in_words(dataset), fmt::join(found, ", ")));
    }
    return arrays_.find(dataset, counts_name());
  }

  StoredArray find_targets() const {
    require(targets_name());
    return arrays_.find_floats(targets_name(), kTargets);
  }

 private:
  const char* counts_name() const { return is_raw_ ? "full" : "x"; }
  const char* targets_name() const { return is_raw_ ? "unitPar" : "y"; }
  void require(const char* array) const {
    if (arrays_.has(array)) return;
    const std::string link = arrays_.broken_link(array);
    throw base::DataError(fmt::format("{}: expected datasets '{}' and '{}', found no '{}'{}", name_,
                                      counts_name(), targets_name(), array,
                                      link.empty() ? " among " + arrays_.names() : link));
  }

  const std::string& name_;
  const H5Arrays arrays_;
  bool is_raw_ = false;  ///< a whole simulation, with the dataset names of its authors
};

}  // namespace

UniverseInH5 inspect_h5(H5Storage& storage, const UniverseShape& shape, OtherCounts others,
                        const std::string& name) {
  StoredArray counts, targets;
  {
    const H5Section section;
    const Reader reader(storage, name);
    counts = reader.find_counts(shape);
    targets = reader.find_targets();
  }
  UniverseInH5 found;
  read_floats(storage, targets, found.targets);
  if (counts.is_in_place()) {
    found.offset = counts.offset;
  } else if (others == OtherCounts::kConvert) {
    found.counts = read_values(storage, counts);
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
    // The small array first, so that it is stored next to the headers.
    write_h5_array(file, "y", H5T_IEEE_F32LE, {universe.targets.size()}, universe.targets.data());
    write_h5_array(file, "x", H5T_STD_I16LE, dims, universe.counts.data());
    flush_h5(file, "universe");
  }
  return std::move(buffer.bytes);
}

}  // namespace dataset
