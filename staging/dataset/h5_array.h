// Arrays of numbers in HDF5 files: where they lie, and their values as this machine has them.
// Hides HDF5's calls, and the ways in which numbers are stored.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/h5_chunks.h"
#include "staging/dataset/h5_storage.h"

namespace dataset {

/// Whether these are the first bytes of an HDF5 file.
bool is_h5(std::span<const std::byte> bytes);

/// What the values of an array are. kOther: no plain numbers of a common size.
struct H5Number {
  enum class Kind { kSigned, kUnsigned, kFloat, kOther };
  Kind kind = Kind::kOther;
  std::size_t bytes = 0;  ///< 1, 2, 4 or 8; of kFloat not 1
  std::endian order = std::endian::little;
  bool is_float() const { return kind == Kind::kFloat && bytes >= sizeof(float); }
};

/// Where the values of an array lie.
struct StoredArray {
  std::string label;  ///< of file and array: begins messages
  H5Number number;
  std::int64_t values = 0, value_bytes = 0;
  std::int64_t offset = -1;     ///< in the file, when they lie in one piece
  std::vector<std::byte> here;  ///< when they lie among the headers
  H5Chunks chunks;              ///< else
  /// In the file as this machine has them in memory.
  bool is_in_place() const { return offset >= 0 && number.order == std::endian::native; }
};

/// An HDF5 file, open to look for arrays. All of its life lies within an H5Section.
class H5Arrays {
 public:
  /// `name` begins all messages. Both outlive it. Throws DataError for what is no HDF5 file.
  H5Arrays(H5Storage& storage, const std::string& name);

  /// Whether `path` ("x", "climate/data") leads to something in this very file.
  bool has(const std::string& path) const;
  /// Throws DataError for what is no dataset. It must be there.
  H5Dataset open(const std::string& path) const;
  /// Throws DataError for values that do not lie within the file, all of them: what a damaged file
  /// says is not believed.
  StoredArray find(const H5Dataset& dataset, const std::string& path) const;
  /// The one of `values` numbers of float32 or float64. Throws DataError for any other.
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
};

/// All within an H5Section.
H5Number number_of(const H5Dataset& dataset);
std::vector<hsize_t> dims_of(const H5Dataset& dataset);
/// "uint16", "float32", "another type".
std::string type_in_words(const H5Dataset& dataset);

/// The values of an array in the byte order of this machine; outside of any H5Section, as they may
/// be many. Throws DataError, and what `storage` throws.
std::vector<std::byte> read_values(H5Storage& storage, const StoredArray& array);
/// The same into memory of just their size.
void read_values(H5Storage& storage, const StoredArray& array, std::span<std::byte> out);
/// The values of an array of float32 or float64, rounded to float.
void read_floats(H5Storage& storage, const StoredArray& array, std::span<float> out);

/// A new contiguous array in `file`, groups on its path included; `type` is both of `data` and in
/// the file. The file will not tell when it was written. Within an H5Section. Throws SystemError.
void write_h5_array(const H5FileHandle& file, const char* path, hid_t type,
                    const std::vector<hsize_t>& dims, const void* data);
/// All that was written to `file` reaches its storage. Throws SystemError beginning with `name`.
void flush_h5(const H5FileHandle& file, const std::string& name);

}  // namespace dataset
