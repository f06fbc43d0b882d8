// A kernel lock on a file that also names its owner. The lock ends with its process, but on a
// network file system only when the server notices; the owner's name is for that case.
#include "runner/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "runner/base/error.h"
#include "runner/base/input_file.h"
#include "runner/base/make_folder.h"
#include "runner/base/process_state.h"
#include "runner/base/system_facts.h"

namespace runner {
namespace {

constexpr char kFile[] = "owner.lock";
constexpr std::chrono::milliseconds kLockLookEvery(250);
constexpr int kAbsentLooks = 4;
/// Other runs may take and remove the file while we open it.
constexpr int kMostTries = 100;

enum class Locked { kByUs, kByOther, kUnsupported };

std::string path_in(const std::string& folder) { return folder + "/" + kFile; }

Locked lock(int file) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (::fcntl(file, F_OFD_SETLK, &range) == 0) return Locked::kByUs;
  if (errno == EINVAL && ::fcntl(file, F_SETLK, &range) == 0) return Locked::kByUs;
  return errno == EAGAIN || errno == EACCES ? Locked::kByOther : Locked::kUnsupported;
}

/// What lock() would find.
Locked look_at_lock(int file) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  const bool is_known = ::fcntl(file, F_OFD_GETLK, &range) == 0 ||
                        (errno == EINVAL && ::fcntl(file, F_GETLK, &range) == 0);
  if (!is_known) return Locked::kUnsupported;
  return range.l_type == F_UNLCK ? Locked::kByUs : Locked::kByOther;
}

/// Whether `path` still refers to the open file.
bool is_at(const std::string& path, int file) {
  struct stat there {
  }, here{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(file, &here) == 0 &&
         there.st_ino == here.st_ino && there.st_dev == here.st_dev;
}

/// One line each. A line "whole" marks what precedes it as complete: programs of earlier versions
/// read to the first one.
std::string text_of(const FolderOwner& owner) {
  return fmt::format("{}\n{}\n{}\nwhole\n{}\n{}\nwhole\n", owner.host, owner.process,
                     owner.live_file, owner.start_ticks, owner.kernel);
}

/// Reads through the locked descriptor: closing another one could release the lock.
std::optional<FolderOwner> owner_in(int file) {
  std::array<char, 8192> bytes{};
  const ssize_t size = ::pread(file, bytes.data(), bytes.size(), 0);
  std::istringstream lines(
      std::string(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))));
  FolderOwner owner;
  std::string process, whole, start, kernel, end;
  std::getline(lines, owner.host);
  std::getline(lines, process);
  std::getline(lines, owner.live_file);
  std::getline(lines, whole);
  const auto parsed =
      std::from_chars(process.data(), process.data() + process.size(), owner.process);
  if (whole != "whole" || parsed.ec != std::errc() || owner.process <= 0) return std::nullopt;
  std::getline(lines, start);
  std::getline(lines, kernel);
  std::getline(lines, end);
  std::uint64_t ticks = 0;
  const auto since = std::from_chars(start.data(), start.data() + start.size(), ticks);
  if (end == "whole" && since.ec == std::errc()) {
    owner.start_ticks = ticks;
    owner.kernel = kernel;
  }
  return owner;
}

void write_owner(int file, const FolderOwner& owner, const std::string& folder) {
  const std::string text = text_of(owner);
  const bool is_written =
      ::ftruncate(file, 0) == 0 &&
      ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!is_written) throw base::system_error("cannot write " + path_in(folder), errno);
}

std::string content(const std::string& path) {
  std::string problem;
  return base::read_text(path, problem).value_or("");
}

/// Whether the live file changes within `patience_s`.
bool gives_signs_of_life(const FolderOwner& owner, double patience_s) {
  const std::string before = content(owner.live_file);
  int absent = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (!before.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLockLookEvery);
    const std::string now = content(owner.live_file);
    // The file is gone: the run has ended, unless a network file system lags.
    absent = now.empty() ? absent + 1 : 0;
    if (absent == kAbsentLooks) return false;
    if (!now.empty() && now != before) return true;
  }
  return false;
}

/// Whether this kernel keeps the owner's lock. Containers of several machines may have one host
/// name, which decides only if nothing better is known.
bool is_here(const FolderOwner& owner) {
  return base::is_on_this_kernel(owner.identity()).value_or(owner.host == base::host_name());
}

/// Where there are no locks.
bool may_live_without_lock(const FolderOwner& owner, double patience_s) {
  switch (base::life_from_here(owner.identity())) {
    case base::Life::kAlive:
      return true;
    case base::Life::kDead:
      return false;
    case base::Life::kUnknown:
      break;
  }
  const bool is_known_by_number = owner.kernel.empty() && is_here(owner);
  return is_known_by_number ? base::is_alive(owner.process)
                            : gives_signs_of_life(owner, patience_s);
}

/// Whether the recorded owner may be alive although the lock does not decide it.
bool may_live(Locked locked, const FolderOwner& owner, double patience_s) {
  switch (locked) {
    case Locked::kByUs:  // the file system may keep locks within one host only
      return !is_here(owner) && gives_signs_of_life(owner, patience_s);
    case Locked::kByOther:  // the server may not know yet that the host is gone
      return is_here(owner) || owner.live_file.empty() || gives_signs_of_life(owner, patience_s);
    case Locked::kUnsupported:
      return may_live_without_lock(owner, patience_s);
  }
  return true;
}

}  // namespace

FolderLock::FolderLock(std::string folder, base::Descriptor file, FolderOwner mine)
    : folder_(std::move(folder)), file_(std::move(file)), mine_(std::move(mine)) {}

std::unique_ptr<FolderLock> FolderLock::take(const std::string& folder, const FolderOwner& mine,
                                             FolderOwner& other, double patience_s) {
  base::make_folder(folder);
  const std::string path = path_in(folder);
  for (int tries = 0; tries < kMostTries; ++tries) {
    // A planted link is not followed, and a pipe not waited for.
    constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    base::Descriptor file(::open(path.c_str(), kFlags, 0666));
    if (file.get() < 0) throw base::system_error(path + ": cannot be opened", errno);
    const Locked locked = lock(file.get());
    if (!is_at(path, file.get())) continue;
    const auto owner = owner_in(file.get());
    if (!owner && locked == Locked::kByOther) {
      std::this_thread::sleep_for(kLockLookEvery);  // the holder is about to write its name
      continue;
    }
    if (owner && may_live(locked, *owner, patience_s)) {
      other = *owner;
      return nullptr;
    }
    if (locked == Locked::kByOther) {
      if (is_at(path, file.get())) ::unlink(path.c_str());  // a new file has a lock of its own
      continue;
    }
    write_owner(file.get(), mine, folder);
    return std::unique_ptr<FolderLock>(new FolderLock(folder, std::move(file), mine));
  }
  throw base::SystemError(fmt::format("{}: cannot be taken: others take and leave it", path));
}

std::optional<FolderOwner> FolderLock::live_owner(const std::string& folder, double patience_s) {
  const base::Descriptor file(
      ::open(path_in(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return std::nullopt;
  const auto owner = owner_in(file.get());
  if (!owner || !may_live(look_at_lock(file.get()), *owner, patience_s)) return std::nullopt;
  return owner;
}

FolderLock::~FolderLock() {
  const std::string path = path_in(folder_);
  if (is_at(path, file_.get())) ::unlink(path.c_str());
}

void FolderLock::set_live_file(const std::string& path) {
  // Readers may have another working directory.
  mine_.live_file = std::filesystem::absolute(path).string();
  write_owner(file_.get(), mine_, folder_);
}

void FolderLock::require_ours() const {
  if (is_at(path_in(folder_), file_.get())) return;
  throw base::SystemError(
      fmt::format("{}: expected this run to be its owner, found that another one took it, having "
                  "seen no sign of life of this one",
                  folder_));
}

std::string to_string(const FolderOwner& owner) {
  return fmt::format("process {} on host {}", owner.process, owner.host);
}

}  // namespace runner
