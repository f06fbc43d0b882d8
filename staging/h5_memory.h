// HDF5 files whose own bytes go to memory, so that HDF5 itself never meets a full disk: it keeps a
// file that it could not close, and crashes on it at the program's end.
// Hides HDF5's driver interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "staging/h5_file.h"

namespace staging {

/// Bytes of a file that may be large and mostly unwritten: those are 0 and take no memory.
class SparseBytes {
 public:
  void write(std::int64_t offset, std::span<const std::byte> bytes);
  void read(std::int64_t offset, std::span<std::byte> out) const;
  std::int64_t size() const { return size_; }
  void resize(std::int64_t size) { size_ = size; }

 private:
  static constexpr std::int64_t kPage = 4096;
  std::map<std::int64_t, std::vector<std::byte>> pages_;
  std::int64_t size_ = 0;
};

/// A new HDF5 file, made as `creation` says, that writes into `bytes`; they outlive it, and have
/// their final size when it is closed. `name` stands in messages. Throws SystemError.
H5FileHandle create_in_memory(SparseBytes& bytes, const H5Properties& creation,
                              const std::string& name);

}  // namespace staging
