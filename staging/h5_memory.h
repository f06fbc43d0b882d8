// HDF5 files whose own bytes go to memory, so that HDF5 itself never meets a full disk: it keeps a
// file that it could not close, and crashes on it at the program's end.
// Hides pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "staging/dataset/h5_storage.h"

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

/// Such bytes as a file of HDF5's. They outlive it, and have their final size when it is closed.
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
