// Storage behind an HDF5 file: bytes in memory, or a file that is read in part (an HDF5 file
// driver).
#include "staging/dataset/h5_storage.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "runner/base/error.h"

namespace dataset {
namespace {

/// The driver's open file; HDF5 passes a pointer to its first member.
struct OpenFile {
  H5FD_t common;
  std::shared_ptr<H5Storage*> storage;
  haddr_t end_of_allocation;
};
static_assert(std::is_standard_layout_v<OpenFile>);

OpenFile* own(H5FD_t* file) { return reinterpret_cast<OpenFile*>(file); }
const OpenFile* own(const H5FD_t* file) { return reinterpret_cast<const OpenFile*>(file); }

/// Keeps an exception of `call` for rethrow(): it must not propagate through HDF5's C code.
template <class Call>
herr_t guarded(H5FD_t* file, Call&& call) {
  H5Storage* const storage = *own(file)->storage;
  if (storage == nullptr) return -1;
  try {
    call(*storage);
    return 0;
  } catch (...) {
    storage->keep_failure();
    return -1;
  }
}

H5FD_t* open_file(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*largest*/) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  const H5Storage* storage = *static_cast<H5Storage* const*>(info);
  auto* opened = new (std::nothrow) OpenFile{{}, storage->self(), 0};
  return opened == nullptr ? nullptr : &opened->common;
}

herr_t close_file(H5FD_t* file) {
  delete own(file);
  return 0;
}

herr_t query(const H5FD_t* /*file*/, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA;
  return 0;
}

haddr_t end_of_allocation(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return own(file)->end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  own(file)->end_of_allocation = end;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t /*type*/) {
  const H5Storage* storage = *own(file)->storage;
  return storage == nullptr ? 0 : static_cast<haddr_t>(storage->size() - storage->begin());
}

herr_t read(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t offset, std::size_t size,
            void* out) {
  return guarded(file, [&](H5Storage& storage) {
    storage.read(storage.begin() + static_cast<std::int64_t>(offset),
                 {static_cast<std::byte*>(out), size});
  });
}

herr_t write(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t offset,
             std::size_t size, const void* data) {
  return guarded(file, [&](H5Storage& storage) {
    storage.write(static_cast<std::int64_t>(offset), {static_cast<const std::byte*>(data), size});
  });
}

herr_t truncate(H5FD_t* file, hid_t /*transfer*/, hbool_t /*closing*/) {
  const auto end = static_cast<std::int64_t>(own(file)->end_of_allocation);
  return guarded(file, [&](H5Storage& storage) {
    if (storage.size() != end) storage.resize(end);
  });
}

H5FD_class_t driver_class() {
  constexpr haddr_t kLargest = (haddr_t{1} << 62U) - 1;
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION                   // since HDF5 1.14
  constexpr H5FD_class_value_t kOwn = 511;  // the last of those that are for private drivers
  driver.version = H5FD_CLASS_VERSION;
  driver.value = kOwn;
#endif
  driver.name = "trainmark storage";
  driver.maxaddr = kLargest;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(H5Storage*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = end_of_allocation;
  driver.set_eoa = set_end_of_allocation;
  driver.get_eof = end_of_file;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  constexpr H5FD_mem_t kMap[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kMap), std::end(kMap), std::begin(driver.fl_map));
  return driver;
}

/// The driver's handle, registered for as long as the program runs: HDF5 calls close_file() only
/// after it has dropped the file's own reference to the driver, which frees one that nobody holds.
hid_t storage_driver() {
  static const hid_t registered = [] {
    const H5FD_class_t definition = driver_class();
    return H5FDregister(&definition);
  }();
  return registered;
}

/// The access property list that makes HDF5 use `storage`; null when HDF5 refuses.
H5Properties access_to(H5Storage& storage) {
  H5Properties access(H5Pcreate(H5P_FILE_ACCESS));
  H5Storage* const info = &storage;
  if (H5Pset_driver(access.get(), storage_driver(), static_cast<const void*>(&info)) < 0) {
    access.reset();
  }
  return access;
}

bool lies_within(std::int64_t offset, std::size_t bytes, std::int64_t size) {
  return offset >= 0 && offset <= size && bytes <= static_cast<std::size_t>(size - offset);
}

}  // namespace

void H5Storage::write(std::int64_t /*offset*/, std::span<const std::byte> /*bytes*/) {
  throw base::Error(base::ExitCode::kInternal, "HDF5 wrote into a file that it was to read");
}

void H5Storage::resize(std::int64_t /*size*/) { write(0, {}); }

void H5Memory::read(std::int64_t offset, std::span<std::byte> out) {
  if (!lies_within(offset, out.size(), size())) {
    throw base::DataError(fmt::format("{}: offset {}: expected {} bytes, the file ends at {}",
                                      name_, offset, out.size(), size()));
  }
  std::memcpy(out.data(), bytes_.data() + offset, out.size());
}

H5FileParts::H5FileParts(const File& file) : file_(file) {
  constexpr std::int64_t kHead = 8192;
  head_.resize(static_cast<std::size_t>(std::min(kHead, file.size())));
  file.read(0, head_);
  bytes_read_ = static_cast<std::int64_t>(head_.size());
}

void H5FileParts::read(std::int64_t offset, std::span<std::byte> out) {
  constexpr std::int64_t kBlock = 4096;
  if (lies_within(offset, out.size(), static_cast<std::int64_t>(head_.size()))) {
    std::memcpy(out.data(), head_.data() + offset, out.size());
    return;
  }
  if (static_cast<std::int64_t>(out.size()) >= kBlock || offset >= size()) {
    file_.read(offset, out);
    bytes_read_ += static_cast<std::int64_t>(out.size());
    return;
  }
  if (!lies_within(offset - block_begin_, out.size(), static_cast<std::int64_t>(block_.size()))) {
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(kBlock, size() - offset)));
    file_.read(offset, block);
    bytes_read_ += static_cast<std::int64_t>(block.size());
    block_ = std::move(block);
    block_begin_ = offset;
  }
  H5Memory(block_, file_.path()).read(offset - block_begin_, out);
}

void H5Buffer::read(std::int64_t offset, std::span<std::byte> out) {
  static const std::string name = "memory";
  H5Memory(bytes, name).read(offset, out);
}

void H5Buffer::write(std::int64_t offset, std::span<const std::byte> written) {
  if (!lies_within(offset, written.size(), size())) {
    resize(offset + static_cast<std::int64_t>(written.size()));
  }
  std::memcpy(bytes.data() + offset, written.data(), written.size());
}

std::int64_t find_h5(H5Storage& storage) {
  constexpr std::array<unsigned char, 8> kSignature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  constexpr std::int64_t kSmallestUserBlock = 512;
  constexpr auto kBytes = static_cast<std::int64_t>(kSignature.size());
  std::array<std::byte, kSignature.size()> found{};
  for (std::int64_t at = 0; at <= storage.size() - kBytes;
       at = std::max(2 * at, kSmallestUserBlock)) {
    storage.read(at, found);
    if (std::memcmp(found.data(), kSignature.data(), found.size()) == 0) return at;
  }
  return -1;
}

H5FileHandle open_h5(H5Storage& storage, const std::string& name) {
  const std::int64_t begin = find_h5(storage);
  if (begin < 0) throw base::DataError(name + ": expected an HDF5 file: its signature is missing");
  storage.set_begin(begin);
  const H5Properties access = access_to(storage);
  H5FileHandle file;
  if (access) file = H5FileHandle(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()));
  if (file) return file;
  storage.rethrow();
  throw base::DataError(fmt::format("{}: expected an HDF5 file: {}", name, h5_reason()));
}

H5FileHandle create_h5(H5Storage& storage, hid_t creation, const std::string& name) {
  const H5Properties access = access_to(storage);
  H5FileHandle file;
  if (access) file = H5FileHandle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation, access.get()));
  if (file) return file;
  throw base::SystemError(fmt::format("{}: cannot be laid out: {}", name, h5_reason()));
}

}  // namespace dataset
