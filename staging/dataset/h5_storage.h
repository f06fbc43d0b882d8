// Storage behind an HDF5 file: bytes in memory, or a file that is read in part (an HDF5 file
// driver).
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

/// The bytes of an HDF5 file. An exception of these functions reaches HDF5 as a failure, and is
/// kept for the caller of HDF5; see rethrow().
class H5Storage {
 public:
  H5Storage() : self_(std::make_shared<H5Storage*>(this)) {}
  virtual ~H5Storage() { *self_ = nullptr; }
  H5Storage(const H5Storage&) = delete;
  H5Storage& operator=(const H5Storage&) = delete;

  virtual std::int64_t size() const = 0;
  virtual void read(std::int64_t offset, std::span<std::byte> out) = 0;
  /// Where the HDF5 file begins in the storage: behind a user block, in which other programs keep
  /// what they like. Set by open_h5().
  std::int64_t begin() const { return begin_; }
  void set_begin(std::int64_t begin) { begin_ = begin; }

  /// Both throw unless overridden.
  virtual void write(std::int64_t offset, std::span<const std::byte> bytes);
  virtual void resize(std::int64_t size);

  /// Points to this storage, and to null after its destruction: HDF5 keeps files that it could not
  /// close, such as ones with damaged headers, until the program ends.
  std::shared_ptr<H5Storage*> self() const { return self_; }
  /// Rethrows the last exception, if there was one.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  void keep_failure() { failure_ = std::current_exception(); }

 private:
  std::shared_ptr<H5Storage*> self_;
  std::exception_ptr failure_;
  std::int64_t begin_ = 0;
};

/// A read-only file in memory.
class H5Memory final : public H5Storage {
 public:
  /// `name` is used in messages. Both arguments must outlive the object.
  H5Memory(std::span<const std::byte> bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void read(std::int64_t offset, std::span<std::byte> out) override;

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

/// A file on disk of which only the bytes that HDF5 asks for are read, in blocks.
class H5FileParts final : public H5Storage {
 public:
  /// Reads the first block, which often contains everything but the arrays.
  explicit H5FileParts(const File& file);
  std::int64_t size() const override { return file_.size(); }
  void read(std::int64_t offset, std::span<std::byte> out) override;
  std::span<const std::byte> head() const { return head_; }
  /// Bytes read from the file so far.
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

  std::vector<std::byte> bytes;  ///< bytes that HDF5 did not write are 0
};

/// Where an HDF5 file may begin: at 0, 512, 1024, 2048 and so on. Returns the place of the first
/// signature, or -1 if there is none.
std::int64_t find_h5(H5Storage& storage);

/// Opens the file in `storage` for reading; `storage` must outlive the result. HDF5's own offsets
/// then count from storage.begin(). Within an H5Section. Throws DataError beginning with `name` for
/// anything but an HDF5 file, and exceptions of `storage`.
H5FileHandle open_h5(H5Storage& storage, const std::string& name);
/// Creates a file in `storage` with the property list `creation`. Within an H5Section. Throws
/// SystemError beginning with `name`.
H5FileHandle create_h5(H5Storage& storage, hid_t creation, const std::string& name);

}  // namespace dataset
