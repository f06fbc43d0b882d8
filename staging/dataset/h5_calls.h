// Calls of HDF5 from several threads: one at a time, silent, handles owned, errors in words.
// Hides the C interface.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>

#include "runner/base/unique_handle.h"

namespace dataset {

/// All hid_t are numbers; each kind closes its own way.
template <herr_t (*kClose)(hid_t)>
struct H5Traits {
  using Raw = hid_t;
  static Raw null() { return H5I_INVALID_HID; }
  static void close(Raw raw) { kClose(raw); }
};
using H5FileHandle = base::UniqueHandle<H5Traits<H5Fclose>>;
using H5Dataset = base::UniqueHandle<H5Traits<H5Dclose>>;
using H5Space = base::UniqueHandle<H5Traits<H5Sclose>>;
using H5Type = base::UniqueHandle<H5Traits<H5Tclose>>;
using H5Properties = base::UniqueHandle<H5Traits<H5Pclose>>;

/// While it lives no other thread is inside HDF5, which is not thread-safe, and HDF5 prints
/// nothing. Every call of HDF5 in the process, and the end of every handle, lies in the life of
/// one; a thread may have several.
class H5Section {
 public:
  H5Section();
  ~H5Section();
  H5Section(const H5Section&) = delete;
  H5Section& operator=(const H5Section&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> turn_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Starts HDF5. Its first call calls MPI in a program that uses MPI, so the thread that started MPI
/// must come before any other.
void start_h5();

/// The first cause on HDF5's error stack, in its words. Within an H5Section.
std::string h5_reason();

}  // namespace dataset
