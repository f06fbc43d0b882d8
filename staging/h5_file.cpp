// An HDF5 file open for writing, with HDF5's errors as exceptions.
#include "staging/h5_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
#include "staging/dataset/h5_storage.h"
#include "staging/output_file.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

/// The mode of the regular file at `path`; nullopt if nothing is there, or a link.
std::optional<mode_t> replaced_mode(const std::string& path) {
  constexpr mode_t kPermissions = 0777;
  struct stat before {};
  if (::lstat(path.c_str(), &before) != 0 || S_ISLNK(before.st_mode)) return std::nullopt;
  if (!S_ISREG(before.st_mode)) {
    throw base::SystemError(fmt::format(
        "{}: cannot be written: expected a regular file or none, found {}", path,
        S_ISDIR(before.st_mode) ? "a folder" : "a device or pipe, which HDF5 cannot write"));
  }
  return before.st_mode & kPermissions;
}

}  // namespace

std::vector<hsize_t> to_dims(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

/// The file that HDF5 writes through. Once a write has failed, HDF5 is told that all goes well and
/// nothing more is written: HDF5 ignores failures of writes that it has delayed, and crashes at the
/// end of the program over a file that it cannot close.
class H5Part final : public dataset::H5Storage {
 public:
  H5Part(const std::string& path, std::optional<mode_t> mode)
      : path_(path), file_(base::open_part(path)) {
    if (!file_) throw base::system_error(path_ + ": cannot be created", errno);
    if (mode) ::fchmod(file_.get(), *mode);  // as base::ReplacedFile
  }

  std::int64_t size() const override { return size_; }

  /// What lies beyond the end is read as zeros.
  void read(std::int64_t offset, std::span<std::byte> out) override {
    std::fill(out.begin(), out.end(), std::byte{0});
    attempt([&] {
      while (!out.empty()) {
        const ssize_t got = ::pread(file_.get(), out.data(), out.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw base::system_error(path_ + ": read failed", errno);
        if (got == 0) return;
        out = out.subspan(static_cast<std::size_t>(got));
        offset += got;
      }
    });
  }

  void write(std::int64_t offset, std::span<const std::byte> bytes) override {
    size_ = std::max(size_, offset + std::ssize(bytes));
    attempt([&] { write_at(file_, path_, offset, bytes); });
  }

  void resize(std::int64_t size) override {
    size_ = size;
    attempt([&] {
      if (::ftruncate(file_.get(), size) == 0) return;
      throw base::system_error(fmt::format("{}: cannot have {} bytes", path_, size), errno);
    });
  }

  void sync() const {
    if (::fsync(file_.get()) != 0) throw base::system_error(path_ + ": fsync failed", errno);
  }

 private:
  template <class Call>
  void attempt(const Call& call) {
    if (has_failed_) return;
    try {
      call();
    } catch (const base::SystemError&) {
      has_failed_ = true;
      keep_failure();
    }
  }

  const std::string path_;
  base::Descriptor file_;
  std::int64_t size_ = 0;
  bool has_failed_ = false;
};

H5File::H5File(std::string path) : path_(std::move(path)) {
  const H5Section section;
  part_ = std::make_unique<H5Part>(file_name(), replaced_mode(path_));
  try {
    handle_ = dataset::create_h5(*part_, H5P_DEFAULT, file_name());
    part_->rethrow();
  } catch (...) {
    handle_.reset();
    ::unlink(file_name().c_str());
    throw;
  }
}

H5File::~H5File() {
  const H5Section section;
  handle_.reset();
  std::error_code ignored;
  if (!is_finished_) fs::remove(file_name(), ignored);
}

std::string H5File::file_name() const { return path_ + ".part"; }

void H5File::finish() {
  const H5Section section;
  check(H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL), "/", "flush failed");
  handle_.reset();
  part_->rethrow();
  part_->sync();
  std::error_code error;
  fs::rename(file_name(), path_, error);
  if (error) {
    throw base::SystemError(
        fmt::format("{}: cannot be renamed to {}: {}", file_name(), path_, error.message()));
  }
  is_finished_ = true;
  const fs::path folder = fs::path(path_).parent_path();
  sync_folder(folder.empty() ? "." : folder.string());
}

void H5File::fail(const std::string& name, const std::string& what) const {
  part_->rethrow();
  throw base::SystemError(fmt::format("{}: {}: {}: {}", path_, name, what, h5_reason()));
}

void H5File::check(herr_t status, const std::string& name, const std::string& what) const {
  part_->rethrow();
  if (status < 0) fail(name, what);
}

H5Dataset H5File::create(const std::string& name, hid_t type, const std::vector<hsize_t>& dims,
                         const std::vector<hsize_t>& max_dims,
                         const std::vector<hsize_t>& chunk) const {
  const H5Properties links(H5Pcreate(H5P_LINK_CREATE)), layout(H5Pcreate(H5P_DATASET_CREATE));
  check(H5Pset_create_intermediate_group(links.get(), 1), name, "cannot be created");
  // A time of creation would make files of equal content differ.
  check(H5Pset_obj_track_times(layout.get(), false), name, "cannot be created");
  const auto rank = static_cast<int>(dims.size());
  if (!max_dims.empty()) {
    check(H5Pset_chunk(layout.get(), rank, chunk.data()), name, "cannot be chunked");
  }
  const H5Space space(
      dims.empty()
          ? H5Screate(H5S_SCALAR)
          : H5Screate_simple(rank, dims.data(), max_dims.empty() ? nullptr : max_dims.data()));
  if (!space) fail(name, "cannot have this shape");
  H5Dataset dataset(
      H5Dcreate2(id(), name.c_str(), type, space.get(), links.get(), layout.get(), H5P_DEFAULT));
  if (!dataset) fail(name, "cannot be created");
  return dataset;
}

H5Dataset H5File::open(const std::string& name) const {
  H5Dataset dataset(H5Dopen2(id(), name.c_str(), H5P_DEFAULT));
  if (!dataset) fail(name, "cannot be opened");
  return dataset;
}

}  // namespace staging
