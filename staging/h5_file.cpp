// An HDF5 file open for writing or reading, with HDF5's errors as exceptions.
#include "staging/h5_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/replaced_file.h"
#include "staging/output_file.h"

namespace staging {
namespace {

namespace fs = std::filesystem;

/// HDF5's file lock fails on file systems without locks, or mounted read-only. None is needed: a
/// reader needs none, and a file that is written has a temporary name until it is complete.
H5Properties without_lock() {
  H5Properties access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_file_locking(access.get(), false, true);
  return access;
}

void sync_file(const std::string& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) throw base::system_error(path + ": fsync failed", errno);
}

/// The descriptor of an open file, -1 if HDF5 has none. The file keeps it.
int descriptor_of(hid_t file) {
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0 || descriptor == nullptr) return -1;
  return *static_cast<int*>(descriptor);
}

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

/// Redirects HDF5's pending writes of an abandoned `file` to memory. Otherwise closing a file that
/// cannot be written fails, and HDF5 crashes when it closes the file again at process exit.
void give_up(hid_t file) {
  const int descriptor = descriptor_of(file);
  if (descriptor < 0) return;
  const base::Descriptor memory(::memfd_create("given-up", MFD_CLOEXEC));
  if (memory) ::dup3(memory.get(), descriptor, O_CLOEXEC);
}

}  // namespace

std::vector<hsize_t> to_dims(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

H5File::H5File(std::string path) : path_(std::move(path)) {
  const H5Section section;
  const std::optional<mode_t> mode = replaced_mode(path_);
  // An unfinished file, or a link that somebody put there, is removed and not followed. This also
  // tells the system's reason, which HDF5 would wrap in its own words.
  if (!base::open_part(file_name())) {
    throw base::system_error(file_name() + ": cannot be created", errno);
  }
  ::unlink(file_name().c_str());
  const H5Properties access = without_lock();  // outlives the reason below
  handle_ = H5FileHandle(H5Fcreate(file_name().c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()));
  if (!handle_) {
    throw base::SystemError(fmt::format("{}: cannot be created: {}", file_name(), h5_reason()));
  }
  if (mode) ::fchmod(descriptor_of(handle_.get()), *mode);  // as base::ReplacedFile
}

H5File::~H5File() {
  const H5Section section;
  if (!is_finished_ && handle_) give_up(handle_.get());
  handle_.reset();
  std::error_code ignored;
  if (!is_finished_) fs::remove(file_name(), ignored);
}

std::string H5File::file_name() const { return path_ + ".part"; }

void H5File::finish() {
  const H5Section section;
  check(H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL), "/", "flush failed");
  handle_.reset();
  sync_file(file_name());
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
  throw base::SystemError(fmt::format("{}: {}: {}: {}", path_, name, what, h5_reason()));
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
