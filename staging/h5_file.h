// An HDF5 file open for writing, with HDF5's errors as exceptions.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "staging/dataset/h5_calls.h"

namespace staging {

using dataset::h5_reason;
using dataset::H5Dataset;
using dataset::H5FileHandle;
using dataset::H5Properties;
using dataset::H5Section;
using dataset::H5Space;
using dataset::H5Type;

class H5Part;

std::vector<hsize_t> to_dims(const std::vector<std::int64_t>& shape);

/// A file open for writing as `path`.part, which finish() puts in the place of a file with its
/// mode, or of a link. Throws SystemError for another kind of file, as a device.
class H5File {
 public:
  explicit H5File(std::string path);
  ~H5File();
  H5File(const H5File&) = delete;
  H5File& operator=(const H5File&) = delete;

  hid_t id() const { return handle_.get(); }
  const std::string& path() const { return path_; }
  /// Closes it, flushes it to the device, and renames it to `path`.
  void finish();

  /// Creates a dataset: contiguous and of fixed size if `max_dims` is empty, else chunked by
  /// `chunk`.
  H5Dataset create(const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                   const std::vector<hsize_t>& max_dims = {},
                   const std::vector<hsize_t>& chunk = {}) const;
  H5Dataset open(const std::string& name) const;
  /// Throws SystemError: "path: name: what: HDF5's reason", or why the file cannot be written.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;
  /// Throws as fail() where a call has failed, or an earlier write, which HDF5 may have delayed.
  void check(herr_t status, const std::string& name, const std::string& what) const;

 private:
  std::string file_name() const;
  std::string path_;
  std::unique_ptr<H5Part> part_;
  H5FileHandle handle_;
  bool is_finished_ = false;
};

}  // namespace staging
