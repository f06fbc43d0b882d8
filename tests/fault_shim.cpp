// A library for LD_PRELOAD that kills a program, or denies it disk space, at an exact moment.
// TRAINMARK_TEST_FAULT="<rank>:<what>:<n>" selects the fault; the rank is the launcher's. What:
//   part     SIGKILL in the n-th call that opens, writes, truncates or syncs a file *.part; half of
//            a write is done then
//   rename   SIGKILL before the n-th rename of such a file
//   renamed  SIGKILL just after it
//   pack     SIGKILL in the n-th call that opens, writes, renames or has renamed a staged pack;
//   half
//            of a write is done then
//   flock    flock() fails with error number n
//   trial    the trial file that a run writes first cannot be opened
//   tick     SIGKILL at the n-th reading of the clock: any moment of the run
//   told     SIGTERM when the n-th file *.part.* or in such a folder is opened: staging writes them
//   finalize SIGSTOP before MPI_Finalize
//   sum      the n-th MPI_Isend, which must be of floats, damages the first of them
//   stuck    from the n-th MPI_Testall on, no operation is complete
//   full     from the n-th write to such files on, the device is full
// TRAINMARK_TEST_DISK="<bytes>:<folder>": the folder is on a disk with only this many bytes free.
// TRAINMARK_TEST_STUCK=FILE: reading this file never returns, as on a hanging file system.
// TRAINMARK_TEST_ERRNO, TRAINMARK_TEST_PAUSE: calls that fail or wait (failing_calls.h).
// TRAINMARK_TEST_COUNTS=FILE: in MPI_Finalize rank r writes "<calls of part> <ticks>" to FILE.r.
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "failing_calls.h"

namespace {

using faults::fails;
using faults::find_path;

struct Plan {
  char what[16] = "";
  long at = 0;
  const char* counts = nullptr;
  int rank = 0;
};

Plan read_plan() {
  Plan plan;
  const char* rank = std::getenv(MPIEXEC_RANK);
  plan.rank = rank == nullptr ? 0 : std::atoi(rank);
  plan.counts = std::getenv("TRAINMARK_TEST_COUNTS");
  const char* fault = std::getenv("TRAINMARK_TEST_FAULT");
  int wanted = -1;
  if (fault == nullptr ||
      std::sscanf(fault, "%d:%15[a-z]:%ld", &wanted, plan.what, &plan.at) != 3 ||
      wanted != plan.rank) {
    plan.what[0] = '\0';
  }
  return plan;
}

const Plan& plan() {
  static const Plan kPlan = read_plan();
  return kPlan;
}

std::atomic<long> sums{0}, tests{0};
std::atomic<long> begun_opens{0}, part_calls{0}, part_writes{0}, renames{0}, ticks{0};
constexpr int kDescriptors = 4096;
std::atomic<bool> is_part[kDescriptors], is_pack[kDescriptors];
std::atomic<long> pack_calls{0};

bool wants(const char* what) { return std::strcmp(plan().what, what) == 0; }

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// Counts a call on a .part file; returns true if the process is to be killed in it.
bool ends_in_part_call() {
  const long call = ++part_calls;
  return wants("part") && call == plan().at;
}

bool ends_with(const char* path, const char* ending) {
  const std::size_t length = std::strlen(path), last = std::strlen(ending);
  return length > last && std::strcmp(path + length - last, ending) == 0;
}

/// The HDF5 file that a run writes first.
bool names_trial(const char* path) { return ends_with(path, ".new.part"); }

bool names_part(const char* path) { return ends_with(path, ".part") && !names_trial(path); }

bool names_pack_part(const char* path) {
  const char* const file = std::strrchr(path, '/');
  return file != nullptr && std::strncmp(file, "/pack-", 6) == 0 &&
         std::strstr(file, ".part.") != nullptr;
}

/// Counts a call on an unfinished pack; returns true if the process is to be killed in it.
bool ends_in_pack_call() { return wants("pack") && ++pack_calls == plan().at; }

bool on_pack(int fd) { return fd >= 0 && fd < kDescriptors && is_pack[fd].load(); }

bool on_part(int fd) { return fd >= 0 && fd < kDescriptors && is_part[fd].load(); }

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

/// Does not return for the file that is stuck.
void read_from(int fd) {
  static const char* const stuck = std::getenv("TRAINMARK_TEST_STUCK");
  faults::pause_at(fd);
  faults::Path path;
  if (stuck == nullptr || !find_path(fd, path)) return;
  while (std::strcmp(path.data(), stuck) == 0) ::pause();
}

/// Before a file is opened.
bool is_refused(const char* path) {
  if (fails("open", path)) return true;
  if (!wants("trial") || !names_trial(path)) return false;
  errno = EPERM;
  return true;
}

int opened(int fd, const char* path) {
  if (wants("told") && std::strstr(path, ".part.") != nullptr && ++begun_opens == plan().at) {
    std::raise(SIGTERM);
  }
  if (fd >= 0 && fd < kDescriptors) {
    is_part[fd] = names_part(path);
    is_pack[fd] = names_pack_part(path);
  }
  if (on_pack(fd) && ends_in_pack_call()) die();
  if (on_part(fd) && ends_in_part_call()) die();
  return fd;
}

/// Whether `fd` is a file on the small disk, and `size` more bytes do not fit.
bool is_disk_full(int fd, std::size_t size) {
  static const char* const disk = std::getenv("TRAINMARK_TEST_DISK");
  static std::atomic<std::size_t> used{0};
  const char* folder = disk == nullptr ? nullptr : std::strchr(disk, ':');
  if (folder == nullptr) return false;
  faults::Path path;
  if (!find_path(fd, path)) return false;
  const bool is_below = std::strncmp(path.data(), folder + 1, std::strlen(folder + 1)) == 0;
  return is_below && used.fetch_add(size) + size > std::strtoull(disk, nullptr, 10);
}

template <class Write>
ssize_t written(int fd, std::size_t size, Write write) {
  if (fails("write", fd)) return -1;
  if (is_disk_full(fd, size)) {
    errno = ENOSPC;
    return -1;
  }
  if (on_pack(fd) && ends_in_pack_call()) {
    write(size / 2);
    die();
  }
  if (!on_part(fd)) return write(size);
  if (wants("full") && ++part_writes >= plan().at) {
    errno = ENOSPC;
    return -1;
  }
  if (ends_in_part_call()) {
    write(size / 2);
    die();
  }
  return write(size);
}

void print_counts() {
  if (plan().counts == nullptr) return;
  char path[4096];
  std::snprintf(path, sizeof path, "%s.%d", plan().counts, plan().rank);
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld %ld\n", part_calls.load(), ticks.load());
    std::fclose(file);
  }
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto real = next<int (*)(const char*, int, ...)>("open");
  if (is_refused(path)) return -1;
  return opened(real(path, flags, mode), path);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto real = next<int (*)(const char*, int, ...)>("open64");
  if (is_refused(path)) return -1;
  return opened(real(path, flags, mode), path);
}

ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  static const auto real = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  read_from(fd);
  if (fails("read", fd)) return -1;
  return real(fd, data, size, offset);
}

ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
  static const auto real = next<ssize_t (*)(int, void*, size_t, off64_t)>("pread64");
  read_from(fd);
  if (fails("read", fd)) return -1;
  return real(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return written(fd, size, [&](size_t part) { return real(fd, data, part, offset); });
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return written(fd, size, [&](size_t part) { return real(fd, data, part, offset); });
}

ssize_t write(int fd, const void* data, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return written(fd, size, [&](size_t part) { return real(fd, data, part); });
}

int ftruncate(int fd, off_t size) {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  if (fails("truncate", fd)) return -1;
  if (on_part(fd) && ends_in_part_call()) die();
  return real(fd, size);
}

int ftruncate64(int fd, off64_t size) {
  static const auto real = next<int (*)(int, off64_t)>("ftruncate64");
  if (fails("truncate", fd)) return -1;
  if (on_part(fd) && ends_in_part_call()) die();
  return real(fd, size);
}

int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  if (fails("sync", fd)) return -1;
  if (on_part(fd) && ends_in_part_call()) die();
  return real(fd);
}

int flock(int fd, int operation) {
  static const auto real = next<int (*)(int, int)>("flock");
  if (!wants("flock")) return real(fd, operation);
  errno = static_cast<int>(plan().at);
  return -1;
}

int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  if (fails("rename", from)) return -1;
  const bool counts_here = names_part(from) && ++renames == plan().at;
  if (counts_here && wants("rename")) die();
  const bool is_of_pack = names_pack_part(from);
  if (is_of_pack && ends_in_pack_call()) die();
  const int status = real(from, to);
  if (is_of_pack && ends_in_pack_call()) die();
  if (counts_here && wants("renamed")) die();
  return status;
}

/// No rank may leave before all have arrived: the launcher ends the remaining ranks as soon as one
/// ends with an exit code.
int MPI_Finalize() {
  static const auto real = next<int (*)()>("MPI_Finalize");
  if (wants("finalize")) ::raise(SIGSTOP);
  print_counts();
  return real();
}

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  static const auto real = next<decltype(&MPI_Isend)>("MPI_Isend");
  if (wants("sum") && ++sums == plan().at) {
    static_cast<float*>(const_cast<void*>(from))[0] += 7.0F;
  }
  return real(from, count, type, to, tag, comm, request);
}

int MPI_Testall(int count, MPI_Request requests[], int* are_complete, MPI_Status statuses[]) {
  static const auto real = next<decltype(&MPI_Testall)>("MPI_Testall");
  if (wants("stuck") && ++tests >= plan().at) {
    *are_complete = 0;
    return MPI_SUCCESS;
  }
  return real(count, requests, are_complete, statuses);
}

/// std::chrono::steady_clock::now(). C++ code reads the clock here; MPI's waiting loops do not.
std::int64_t _ZNSt6chrono3_V212steady_clock3nowEv() {
  const long tick = ++ticks;
  if (wants("tick") && tick == plan().at) die();
  struct timespec time {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // extern "C"
