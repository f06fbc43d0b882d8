// What HDF5 takes for a file: bytes in memory, or a file that is read in part.
// Hides HDF5's driver interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/file.h"
#include "staging/dataset/h5_calls.h"

namespace dataset {

/// The bytes of an HDF5 file, wherever they are. What its functions throw reaches HDF5 as a
/// failure, and is kept for whoever called HDF5.
class H5Storage {
 public:
  H5Storage() : self_(std::make_shared<H5Storage*>(this)) {}
  virtual ~H5Storage() { *self_ = nullptr; }
  H5Storage(const H5Storage&) = delete;
  H5Storage& operator=(const H5Storage&) = delete;

  virtual std::int64_t size() const = 0;
  virtual void read(std::int64_t offset, std::span<std::byte> out) = 0;
  /// Both throw unless overridden.
  virtual void write(std::int64_t offset, std::span<const std::byte> bytes);
  virtual void resize(std::int64_t size);

  /// Holds null once the storage is gone: HDF5 keeps what it could not close, such as a file with
  /// damaged headers, until the program ends.
  std::shared_ptr<H5Storage*> self() const { return self_; }
  /// Throws again what was thrown last, if anything was.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  void keep_failure() { failure_ = std::current_exception(); }

 private:
  std::shared_ptr<H5Storage*> self_;
  std::exception_ptr failure_;
};

/// A file that lies in memory, to be read.
class H5Memory final : public H5Storage {
 public:
  /// `name` stands in messages; all outlive it.
  H5Memory(std::span<const std::byte> bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, std::span<std::byte> out) override;

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

/// A file of which only what HDF5 asks for is read, in blocks.
class H5FileParts final : public H5Storage {
 public:
  /// Reads the first block, which often is all that HDF5 wants besides the arrays.
  explicit H5FileParts(const File& file);
  std::int64_t size() const override { return file_.size(); }
  void read(std::int64_t offset, std::span<std::byte> out) override;
  std::span<const std::byte> head() const { return head_; }
  /// Read from the file until now.
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  const File& file_;
  std::vector<std::byte> head_, block_;
  std::int64_t block_begin_ = 0, bytes_read_ = 0;
};

/// A file that grows in memory.
class H5Buffer final : public H5Storage {
 public:
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes.size()); }
  void read(std::int64_t offset, std::span<std::byte> out) override;
  void write(std::int64_t offset, std::span<const std::byte> written) override;
  void resize(std::int64_t size) override { bytes.resize(static_cast<std::size_t>(size)); }

  std::vector<std::byte> bytes;  ///< what HDF5 did not write is 0
};

/// Opens for reading what lies in `storage`, which outlives the file. Within an H5Section. Throws
/// DataError beginning with `name` for what is no HDF5 file, and what `storage` throws.
H5FileHandle open_h5(H5Storage& storage, const std::string& name);
/// A new file in `storage`, made as `creation` (a property list) says. Within an H5Section. Throws
/// SystemError beginning with `name`.
H5FileHandle create_h5(H5Storage& storage, hid_t creation, const std::string& name);

}  // namespace dataset
