// Samples in files of a private folder on the node's storage.
#include "staging/cache/disk_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "staging/hash.h"
#include "staging/output_file.h"
#include "staging/staged_folder.h"

namespace cache {
namespace {

/// Whether the file has all bytes of `out`.
bool read_whole(const base::Descriptor& file, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(file.get(), out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

DiskFiles::DiskFiles(const std::string& directory)
    : use_(staging::begin_passing_folder(directory + "/cache")) {}

DiskFiles::~DiskFiles() { staging::remove_passing_folder(folder()); }

std::string DiskFiles::path(std::uint64_t file) const {
  return folder() + "/" + std::to_string(file) + ".sample";
}

void DiskFiles::write(std::uint64_t file, std::span<const std::byte> bytes) const {
  const std::string name = path(file);
  const base::Descriptor out(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) throw base::system_error(name + ": cannot be created", errno);
  try {
    staging::write_at(out, name, 0, bytes);
  } catch (const base::SystemError&) {
    remove(file);
    throw;
  }
}

DiskFiles::Found DiskFiles::read(std::uint64_t file, std::uint64_t hash,
                                 std::span<std::byte> out) const {
  const base::Descriptor in(::open(path(file).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!in) return errno == ENOENT ? Found::kGone : Found::kDamaged;
  return read_whole(in, out) && staging::hash_of(out) == hash ? Found::kWhole : Found::kDamaged;
}

void DiskFiles::remove(std::uint64_t file) const noexcept { ::unlink(path(file).c_str()); }

}  // namespace cache
