// HDF5 calls from several threads: serialised, with owned handles and errors as text.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>

#include "runner/base/unique_handle.h"

namespace dataset {

/// All HDF5 handles are of type hid_t; each kind has its own closing function.
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

/// While it lives, no other thread is inside HDF5, which is not thread-safe, and HDF5 prints
/// nothing. Every HDF5 call of the process, including the closing of handles, must be within an
/// H5Section. A thread may nest them.
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

/// Starts HDF5. In a program that uses MPI its first call calls MPI, so the thread that initialised
/// MPI must make that call.
void start_h5();

/// The innermost cause on HDF5's error stack, as text. Within an H5Section.
std::string h5_reason();

}  // namespace dataset
