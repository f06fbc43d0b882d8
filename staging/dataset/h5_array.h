// Numeric arrays in HDF5 files: their locations, and their values in native form.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/h5_chunks.h"
#include "staging/dataset/h5_numbers.h"
#include "staging/dataset/h5_storage.h"

namespace dataset {

/// Whether these bytes of a file, its first ones or all, have HDF5's signature where it may be.
bool is_h5(std::span<const std::byte> bytes);

/// The location of an array's values.
struct StoredArray {
  std::string label;  ///< "file: array", the beginning of messages
  H5Number number;
  std::int64_t values = 0, value_bytes = 0;
  std::int64_t offset = -1;     ///< in the file, if the values are contiguous
  std::vector<std::byte> here;  ///< the values, if they are stored among the headers
  H5Chunks chunks;              ///< otherwise
  /// Whether the values are contiguous in the file and in native byte order.
  bool is_in_place() const { return offset >= 0 && number.order == std::endian::native; }
};

/// An HDF5 file opened to find arrays in it. Must be created, used and destroyed within an
/// H5Section.
class H5Arrays {
 public:
  /// `name` begins all messages. Both arguments must outlive the object. Throws DataError for
  /// anything but an HDF5 file.
  H5Arrays(H5Storage& storage, const std::string& name);

  /// Whether `path` ("x", "climate/data") exists in this file itself, not behind an external link.
  bool has(const std::string& path) const;
  /// For messages on a path that has() denies: which link in it is the reason, in brackets; or "".
  std::string broken_link(const std::string& path) const;
  /// For messages: the first names in the root group, in quotes, or "no names".
  std::string names() const;
  /// All datasets, those in groups as "group/name", sorted bytewise. Links to other files are none.
  std::vector<std::string> all_names() const;
  /// Throws DataError for anything but a dataset. `path` must exist.
  H5Dataset open(const std::string& path) const;
  /// Throws DataError unless all values are within the file: sizes in a damaged file are not
  /// trusted.
  StoredArray find(const H5Dataset& dataset, const std::string& path) const;
  /// Finds an array of `values` float32 or float64 elements. Throws DataError for any other.
  StoredArray find_floats(const std::string& path, std::int64_t values) const;
  /// "train/a.h5: climate/data", for messages.
  std::string label(const std::string& path) const;

 private:
  StoredArray sized(const H5Dataset& dataset, const std::string& path) const;
  std::int64_t place_of(const H5Dataset& dataset, const StoredArray& array,
                        const std::string& path) const;
  std::vector<std::byte> read_compact(const H5Dataset& dataset, const StoredArray& array,
                                      const std::string& path) const;
  [[noreturn]] void fail(const std::string& path, const char* what) const;

  H5Storage& storage_;
  const std::string& name_;
  H5FileHandle file_;
  H5Properties links_, dataset_access_;  ///< follow no link to another file
};

/// To be called within an H5Section.
H5Number number_of(const H5Dataset& dataset);
std::vector<hsize_t> dims_of(const H5Dataset& dataset);
/// "uint16", "float32", "another type".
std::string type_in_words(const H5Dataset& dataset);

/// The values of an array in native byte order. To be called outside of any H5Section, since
/// reading may take long. Throws DataError, and exceptions of `storage`.
std::vector<std::byte> read_values(H5Storage& storage, const StoredArray& array);
/// The same into `out`, which must have exactly their size.
void read_values(H5Storage& storage, const StoredArray& array, std::span<std::byte> out);
/// The values of a floating-point array, rounded to float.
void read_floats(H5Storage& storage, const StoredArray& array, std::span<float> out);

/// Writes a new contiguous array, creating the groups on its path. `type` is the type of `data` and
/// of the stored elements. No time of creation is stored. Within an H5Section. Throws SystemError.
void write_h5_array(const H5FileHandle& file, const char* path, hid_t type,
                    const std::vector<hsize_t>& dims, const void* data);
/// Flushes everything written to `file` to its storage. Throws SystemError beginning with `name`.
void flush_h5(const H5FileHandle& file, const std::string& name);

}  // namespace dataset
