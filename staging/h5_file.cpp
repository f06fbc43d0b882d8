// An HDF5 file open for writing or reading, with HDF5's errors as exceptions.
#include "staging/h5_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/file_format.h"
#include "runner/base/replaced_file.h"
#include "staging/dataset/file.h"
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

H5FileHandle open_for_reading(const std::string& path, std::string& reason) {
  const H5Properties access = without_lock();
  H5FileHandle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!file) reason = h5_reason();  // the next HDF5 call overwrites it
  return file;
}

/// What a file that is no HDF5 file is, in words, and what to do; "" if that is not known.
std::string known_format(const dataset::File& file) {
  using namespace std::string_view_literals;
  std::array<char, 64> head{};
  const auto bytes = std::as_writable_bytes(std::span(head));
  const auto size = static_cast<std::size_t>(file.read_some(0, bytes));
  const std::string_view begin(head.data(), size);
  constexpr const char* kByHand = "; write the arrays of its state_dict to HDF5 under their names";
  constexpr std::size_t kHeaderBytes = 8;  // of safetensors, before its JSON
  if (size > kHeaderBytes && begin[kHeaderBytes] == '{') {
    return fmt::format("a safetensors file{}", kByHand);
  }
  const std::string words = base::format_in_words(bytes.first(size));
  if (begin.starts_with("\x89HDF"sv)) return "";  // damaged behind its signature
  if (begin.starts_with("PK"sv)) {
    return fmt::format("{}, as torch.save and numpy.savez write{}", words, kByHand);
  }
  if (begin.starts_with("\x80\x02"sv)) {
    return fmt::format("{}, as old versions of torch.save write{}", words, kByHand);
  }
  return begin.starts_with("\x1f\x8b"sv) ? words + "; expand it" : words;
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

H5File::H5File(std::string path, Purpose purpose) : path_(std::move(path)), purpose_(purpose) {
  const H5Section section;
  if (purpose == Purpose::kWrite) {
    create_part();
    return;
  }
  const dataset::File readable(path_);  // throws a precise error if missing or no regular file
  std::string reason;
  handle_ = open_for_reading(path_, reason);
  if (!handle_) {
    const std::string format = known_format(readable);
    throw base::DataError(format.empty()
                              ? fmt::format("{}: expected an HDF5 file: {}", path_, reason)
                              : fmt::format("{}: expected an HDF5 file, found {}", path_, format));
  }
}

void H5File::create_part() {
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
  if (purpose_ == Purpose::kWrite && !is_finished_ && handle_) give_up(handle_.get());
  handle_.reset();
  std::error_code ignored;
  if (purpose_ == Purpose::kWrite && !is_finished_) fs::remove(file_name(), ignored);
}

std::string H5File::file_name() const {
  return purpose_ == Purpose::kWrite ? path_ + ".part" : path_;
}

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
  const std::string message = fmt::format("{}: {}: {}: {}", path_, name, what, h5_reason());
  if (purpose_ == Purpose::kWrite) throw base::SystemError(message);
  throw base::DataError(message);
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

bool H5File::has(const std::string& name) const {
  const H5Section section;
  // H5Lexists fails when an intermediate group is missing.
  for (std::size_t slash = name.find('/', 1); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    if (H5Lexists(id(), name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(id(), name.c_str(), H5P_DEFAULT) > 0;
}

H5Dataset H5File::open(const std::string& name) const {
  if (!has(name)) throw base::DataError(fmt::format("{}: expected a dataset '{}'", path_, name));
  const H5Properties access = dataset::within_this_file(H5P_DATASET_ACCESS);
  H5Dataset dataset(H5Dopen2(id(), name.c_str(), access.get()));
  if (!dataset) fail(name, "cannot be opened within this file");
  const H5Properties creation(H5Dget_create_plist(dataset.get()));
  if (H5Pget_layout(creation.get()) == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0) {
    throw base::DataError(
        fmt::format("{}: {}: expected values in this file, found them in others", path_, name));
  }
  return dataset;
}

std::vector<std::int64_t> H5File::shape_of(const H5Dataset& dataset) const {
  const H5Space space(H5Dget_space(dataset.get()));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank < 0 ? 0 : rank));
  if (!dims.empty()) H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  return {dims.begin(), dims.end()};
}

}  // namespace staging
