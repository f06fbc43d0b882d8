// Calls on files that fail as on a bad disk, or wait.
#include "failing_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace faults {
namespace {

struct FailingCall {
  char call[16] = "";
  long from = 0;
  int error = 0;
  const char* text = nullptr;  ///< nullptr: no call fails
};

FailingCall read_failing_call() {
  FailingCall failing;
  const char* const wanted = std::getenv("TRAINMARK_TEST_ERRNO");
  const char* const rank = std::getenv(MPIEXEC_RANK);
  int of_rank = -1, text_at = 0;
  if (wanted != nullptr &&
      std::sscanf(wanted, "%d:%15[a-z]:%ld:%d:%n", &of_rank, failing.call, &failing.from,
                  &failing.error, &text_at) == 4 &&
      of_rank == (rank == nullptr ? 0 : std::atoi(rank))) {
    failing.text = wanted + text_at;
  }
  return failing;
}

const FailingCall& failing_call() {
  static const FailingCall kFailing = read_failing_call();
  return kFailing;
}

std::atomic<long> matching_calls{0};
std::atomic<bool> has_paused{false};

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

bool find_path(int fd, Path& path) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path.data(), path.size() - 1);
  if (length < 0) return false;
  path[static_cast<std::size_t>(length)] = '\0';
  return true;
}

bool fails(const char* call, const char* path) {
  const FailingCall& failing = failing_call();
  if (failing.text == nullptr || std::strcmp(failing.call, call) != 0) return false;
  if (std::strstr(path, failing.text) == nullptr || ++matching_calls < failing.from) return false;
  errno = failing.error;
  return true;
}

bool fails(const char* call, int fd) {
  const FailingCall& failing = failing_call();
  if (failing.text == nullptr || std::strcmp(failing.call, call) != 0) return false;
  Path path;
  return find_path(fd, path) && fails(call, path.data());
}

void pause_at(int fd) {
  static const char* const wanted = std::getenv("TRAINMARK_TEST_PAUSE");
  Path path;
  if (wanted == nullptr || has_paused || !find_path(fd, path)) return;
  const char* const colon = std::strchr(wanted, ':');
  if (colon == nullptr) return;
  const auto length = static_cast<std::size_t>(colon - wanted);
  const bool is_it =
      std::strlen(path.data()) == length && std::strncmp(path.data(), wanted, length) == 0;
  if (!is_it || has_paused.exchange(true)) return;
  std::snprintf(path.data(), path.size(), "%s/reached", colon + 1);
  ::close(::open(path.data(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::snprintf(path.data(), path.size(), "%s/go", colon + 1);
  while (::access(path.data(), F_OK) != 0) ::usleep(10'000);
}

}  // namespace faults

extern "C" {

int fallocate(int fd, int mode, off_t offset, off_t size) {
  static const auto real = faults::next<int (*)(int, int, off_t, off_t)>("fallocate");
  return faults::fails("allocate", fd) ? -1 : real(fd, mode, offset, size);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  static const auto real = faults::next<int (*)(int, int, off64_t, off64_t)>("fallocate64");
  return faults::fails("allocate", fd) ? -1 : real(fd, mode, offset, size);
}

int stat(const char* path, struct stat* found) {
  static const auto real = faults::next<int (*)(const char*, struct stat*)>("stat");
  return faults::fails("stat", path) ? -1 : real(path, found);
}

int lstat(const char* path, struct stat* found) {
  static const auto real = faults::next<int (*)(const char*, struct stat*)>("lstat");
  return faults::fails("stat", path) ? -1 : real(path, found);
}

int fstat(int fd, struct stat* found) {
  static const auto real = faults::next<int (*)(int, struct stat*)>("fstat");
  return faults::fails("stat", fd) ? -1 : real(fd, found);
}

int statvfs(const char* path, struct statvfs* found) {
  static const auto real = faults::next<int (*)(const char*, struct statvfs*)>("statvfs");
  return faults::fails("space", path) ? -1 : real(path, found);
}

int mkdir(const char* path, mode_t mode) {
  static const auto real = faults::next<int (*)(const char*, mode_t)>("mkdir");
  return faults::fails("folder", path) ? -1 : real(path, mode);
}

DIR* fdopendir(int fd) {
  static const auto real = faults::next<DIR* (*)(int)>("fdopendir");
  return faults::fails("list", fd) ? nullptr : real(fd);
}

DIR* opendir(const char* path) {
  static const auto real = faults::next<DIR* (*)(const char*)>("opendir");
  return faults::fails("list", path) ? nullptr : real(path);
}

}  // extern "C"
