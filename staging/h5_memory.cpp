// A driver of HDF5 that keeps what is written.
// Hides the table of callbacks.
#include "staging/h5_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "runner/base/error.h"

namespace staging {
namespace {

/// What HDF5 passes to the callbacks: its own part first.
struct MemoryFile {
  H5FD_t common;
  SparseBytes* bytes;
  haddr_t end_of_allocation;
};

MemoryFile* own(H5FD_t* file) { return reinterpret_cast<MemoryFile*>(file); }
const MemoryFile* own(const H5FD_t* file) { return reinterpret_cast<const MemoryFile*>(file); }

H5FD_t* open_file(const char* /*name*/, unsigned /*flags*/, hid_t access, haddr_t /*largest*/) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  return &(new MemoryFile{{}, *static_cast<SparseBytes* const*>(info), 0})->common;
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
  return static_cast<haddr_t>(own(file)->bytes->size());
}

herr_t read(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t offset, std::size_t size,
            void* out) {
  own(file)->bytes->read(static_cast<std::int64_t>(offset), {static_cast<std::byte*>(out), size});
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t offset,
             std::size_t size, const void* data) try {
  own(file)->bytes->write(static_cast<std::int64_t>(offset),
                          {static_cast<const std::byte*>(data), size});
  return 0;
} catch (const std::bad_alloc&) {
  return -1;  // C stands between us and whoever could catch it
}

herr_t truncate(H5FD_t* file, hid_t /*transfer*/, hbool_t /*closing*/) {
  own(file)->bytes->resize(static_cast<std::int64_t>(own(file)->end_of_allocation));
  return 0;
}

H5FD_class_t driver_class() {
  constexpr haddr_t kLargest = (haddr_t{1} << 62U) - 1;
  H5FD_class_t driver{};
  driver.name = "trainmark memory";
  driver.maxaddr = kLargest;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(SparseBytes*);
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

using H5Driver = base::UniqueHandle<H5Traits<H5FDunregister>>;

}  // namespace

void SparseBytes::write(std::int64_t offset, std::span<const std::byte> bytes) {
  size_ = std::max(size_, offset + static_cast<std::int64_t>(bytes.size()));
  while (!bytes.empty()) {
    std::vector<std::byte>& page = pages_[offset / kPage];
    page.resize(kPage);
    const auto at = static_cast<std::size_t>(offset % kPage);
    const std::size_t count = std::min(bytes.size(), page.size() - at);
    std::memcpy(page.data() + at, bytes.data(), count);
    bytes = bytes.subspan(count);
    offset += static_cast<std::int64_t>(count);
  }
}

void SparseBytes::read(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto at = static_cast<std::size_t>(offset % kPage);
    const std::size_t count = std::min(out.size(), static_cast<std::size_t>(kPage) - at);
    const auto page = pages_.find(offset / kPage);
    if (page == pages_.end()) {
      std::memset(out.data(), 0, count);
    } else {
      std::memcpy(out.data(), page->second.data() + at, count);
    }
    out = out.subspan(count);
    offset += static_cast<std::int64_t>(count);
  }
}

H5FileHandle create_in_memory(SparseBytes& bytes, const H5Properties& creation,
                              const std::string& name) {
  const H5FD_class_t definition = driver_class();
  const H5Driver driver(H5FDregister(&definition));
  const H5Properties access(H5Pcreate(H5P_FILE_ACCESS));
  SparseBytes* const info = &bytes;
  H5FileHandle file;
  if (driver && H5Pset_driver(access.get(), driver.get(), static_cast<const void*>(&info)) >= 0) {
    file = H5FileHandle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
  }
  if (!file) throw base::SystemError(fmt::format("{}: cannot be laid out: {}", name, h5_reason()));
  return file;
}

}  // namespace staging
