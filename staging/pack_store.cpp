// The packs of one staged set in its folder.
#include "staging/pack_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runner/base/descriptor.h"
#include "runner/base/error.h"
#include "runner/base/system_facts.h"
#include "staging/naming_host.h"
#include "staging/output_file.h"

namespace staging {
namespace {

constexpr std::string_view kPackMark = "pack-";
constexpr std::string_view kPackPartMark = ".part.";
constexpr std::size_t kLeastDigits = 8;

/// A pack under a temporary name, which its writer holds a lock on.
struct UnfinishedPack {
  std::string path;
  base::Descriptor file;
};

/// Whether `path` is still the file that is open. Who looks for dead writers may have removed it
/// before it was locked.
bool is_at(const std::string& path, const base::Descriptor& file) {
  struct stat held {
  }, there{};
  return ::fstat(file.get(), &held) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

UnfinishedPack begin_pack(const std::string& final_path) {
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries; ++i) {
    std::string path =
        fmt::format("{}{}{}.{}.{}", final_path, kPackPartMark, base::host_name(), ::getpid(), i);
    base::Descriptor file(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file && errno == EEXIST) continue;
    if (!file) {
      throw base::system_error(fmt::format("{}: {}: cannot be created", base::host_name(), path),
                               errno);
    }
    // Where the file system has no locks, dead parts are not removed either. This waits, so that
    // one who is removing the part is done before it is looked for.
    while (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    if (is_at(path, file)) return {std::move(path), std::move(file)};
  }
  throw base::SystemError(
      fmt::format("{}: {}{}: no name is free", base::host_name(), final_path, kPackPartMark));
}

/// So that a full disk is known before much is written.
void reserve_space(const UnfinishedPack& pack, std::int64_t bytes) {
  while (::fallocate(pack.file.get(), 0, 0, bytes) != 0) {
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return;
    throw base::system_error(on_this_host(pack.path) + ": offset 0: write failed", errno);
  }
}

bool set_direct(const base::Descriptor& file, bool direct) {
  const int flags = ::fcntl(file.get(), F_GETFL);
  return flags >= 0 &&
         ::fcntl(file.get(), F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/// Writes `bytes`, which are aligned, to the beginning of the pack, around the page cache. Returns
/// false if the file system does not do that.
bool write_around_cache(const UnfinishedPack& pack, std::span<const std::byte> bytes) {
  struct statfs kind {};
  // A tmpfs takes the flag from Linux 6.6 on, and keeps the pages all the same.
  if (::fstatfs(pack.file.get(), &kind) == 0 && kind.f_type == TMPFS_MAGIC) return false;
  if (!set_direct(pack.file, true)) return false;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::pwrite(pack.file.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EINVAL) break;
    if (put < 0) {
      throw base::system_error(
          fmt::format("{}: offset {}: write failed", on_this_host(pack.path), done), errno);
    }
    done += static_cast<std::size_t>(put);
    if (done % kDirectAlignment != 0) break;  // what follows would not be aligned
  }
  return set_direct(pack.file, false) && done == bytes.size();
}

WriteWay write_pack(const UnfinishedPack& pack, std::span<const std::byte> image, WriteWay way) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(image.data()) % kDirectAlignment == 0;
  std::size_t written = image.size() / kDirectAlignment * kDirectAlignment;
  const bool goes_direct = way == WriteWay::kDirect && is_aligned && written > 0 &&
                           write_around_cache(pack, image.first(written));
  if (!goes_direct) written = 0;
  write_at(pack.file, on_this_host(pack.path), static_cast<std::int64_t>(written),
           image.subspan(written));
  return goes_direct ? WriteWay::kDirect : WriteWay::kCached;
}

void flush_to_device(const UnfinishedPack& pack) {
  if (::fsync(pack.file.get()) != 0) {
    throw base::system_error(on_this_host(pack.path) + ": fsync failed", errno);
  }
  // Only a hint: a file system that ignores it still reads back correctly.
  ::posix_fadvise(pack.file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

/// Throws DataError unless the file, as the device holds it, has the bytes of `image`.
void read_back(const UnfinishedPack& pack, std::span<const std::byte> image) {
  constexpr std::size_t kReadBackBytes = std::size_t{1} << 20;
  std::vector<std::byte> found(std::min(kReadBackBytes, image.size()));
  for (std::size_t at = 0; at < image.size();) {
    const std::size_t wanted = std::min(found.size(), image.size() - at);
    const ssize_t got = ::pread(pack.file.get(), found.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw base::system_error(
          fmt::format("{}: offset {}: cannot be read back", on_this_host(pack.path), at), errno);
    }
    if (got == 0 ||
        std::memcmp(found.data(), image.data() + at, static_cast<std::size_t>(got)) != 0) {
      throw base::DataError(
          fmt::format("{}: offset {}: {} bytes read back differ from those written",
                      on_this_host(pack.path), at, got));
    }
    at += static_cast<std::size_t>(got);
  }
}

/// `use` of the name of each file in `folder`.
template <class Use>
void for_each_name(const std::string& folder, Use use) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    use(entry->path().filename().string());
  }
  if (error) throw base::system_error(folder + ": cannot be listed", error.value());
}

bool is_unfinished(const std::string& name) {
  return name.find(kPackPartMark) != std::string::npos;
}

}  // namespace

std::string pack_file_name(std::int64_t number) {
  return fmt::format("{}{:0{}}", kPackMark, number, kLeastDigits);
}

std::optional<std::int64_t> number_of_pack_file(const std::string& name) {
  if (!name.starts_with(kPackMark)) return std::nullopt;
  std::int64_t number = 0;
  const char* const begin = name.data() + kPackMark.size();
  const auto [stop, error] = std::from_chars(begin, name.data() + name.size(), number);
  const std::string_view rest(stop, name.data() + name.size());
  const bool is_pack = error == std::errc() && number >= 0 &&
                       (rest.empty() || rest.starts_with(kPackPartMark)) &&
                       name.starts_with(pack_file_name(number) + std::string(rest));
  return is_pack ? std::optional(number) : std::nullopt;
}

PackStore::PackStore(std::string folder, SetRecord record)
    : folder_(std::move(folder)), record_(std::move(record)), set_(set_number(record_.identity)) {}

PackStore PackStore::of(const std::string& folder) { return {folder, read_record(folder)}; }

std::string PackStore::path(std::int64_t number) const {
  return folder_ + "/" + pack_file_name(number);
}

std::vector<bool> PackStore::have(std::string* damage) const {
  std::vector<bool> found(static_cast<std::size_t>(record_.packs));
  for_each_name(folder_, [&](const std::string& file_name) {
    const auto number = number_of_pack_file(file_name);
    if (!number || is_unfinished(file_name) || *number >= record_.packs) return;
    try {
      read_pack_index(dataset::File(path(*number)), name(*number));
      found[static_cast<std::size_t>(*number)] = true;
    } catch (const base::DataError& e) {
      if (damage != nullptr) *damage = e.what();  // it is copied anew, in its place
    }
  });
  return found;
}

std::string PackStore::find_damage(std::int64_t number) const {
  try {
    const dataset::File file(path(number));
    check_trailer(file, name(number));  // before its size is trusted with memory
    std::vector<std::byte> image(static_cast<std::size_t>(file.size()));
    file.read(0, image);
    check_pack(image, name(number), file.path());
    return "";
  } catch (const base::DataError& e) {
    return e.what();
  }
}

void PackStore::remove_dead_parts() const {
  for_each_name(folder_, [&](const std::string& file_name) {
    if (!number_of_pack_file(file_name) || !is_unfinished(file_name)) return;
    const std::string part = folder_ + "/" + file_name;
    const base::Descriptor file(::open(part.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(part.c_str());
  });
}

WriteWay PackStore::put(std::int64_t number, std::span<const std::byte> image,
                        Durability durability, WriteWay way) const {
  const UnfinishedPack pack = begin_pack(path(number));
  try {
    reserve_space(pack, std::ssize(image));
    const WriteWay went = write_pack(pack, image, way);
    if (durability != Durability::kCached) flush_to_device(pack);
    if (durability == Durability::kOnDevice) read_back(pack, image);
    if (std::rename(pack.path.c_str(), path(number).c_str()) != 0) {
      throw base::system_error(fmt::format("{}: {}: cannot be renamed to {}", base::host_name(),
                                           pack.path, pack_file_name(number)),
                               errno);
    }
    return went;
  } catch (...) {
    ::unlink(pack.path.c_str());
    throw;
  }
}

void PackStore::repair(std::int64_t number, const SamplePlace& place,
                       std::span<const std::byte> sample) const {
  const std::string where = path(number);
  const base::Descriptor file(::open(where.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    throw base::system_error(on_this_host(where) + ": cannot be opened for writing", errno);
  }
  write_at(file, on_this_host(where), place.offset, sample);
}

void PackStore::finish() const {
  std::vector<PackRecord> packs;
  const std::vector<bool> found = have();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) continue;
    const auto number = static_cast<std::int64_t>(i);
    const dataset::File file(path(number));
    packs.push_back({number, file.size(), check_trailer(file, name(number)).hash});
  }
  write_pack_records(folder_, record_, packs);
}

bool PackStore::is_finished() const {
  std::error_code error;
  return std::filesystem::exists(folder_ + "/" + kPacksRecord, error);
}

}  // namespace staging
