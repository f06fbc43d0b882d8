// HDF5 files whose own bytes go to memory, so that HDF5 itself never writes to a full disk: it
// keeps a file that it could not close, and crashes on it at process exit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "staging/dataset/h5_storage.h"

namespace staging {

/// The bytes of a large, sparse file. Unwritten bytes are 0, and pages never written take no
/// memory.
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

/// SparseBytes as storage of an HDF5 file. They outlive it, and have their final size once it is
/// closed.
class SparseStorage final : public dataset::H5Storage {
 public:
  explicit SparseStorage(SparseBytes& bytes) : bytes_(bytes) {}
  std::int64_t size() const override { return bytes_.size(); }
  void read(std::int64_t offset, std::span<std::byte> out) override { bytes_.read(offset, out); }
  void write(std::int64_t offset, std::span<const std::byte> bytes) override {
    bytes_.write(offset, bytes);
  }
  void resize(std::int64_t size) override { bytes_.resize(size); }

 private:
  SparseBytes& bytes_;
};

}  // namespace staging
