// Probes folders with a file that is written, locked, renamed and removed.
#include "runner/doctor/folder_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "runner/base/descriptor.h"
#include "runner/base/exclusive_file.h"
#include "runner/documents.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

using runner::bytes_text;

/// A file of this process in `folder`; the destructor removes it under either name.
class Probe {
 public:
  explicit Probe(const std::string& folder)
      : path_(fmt::format("{}/.trainmark-doctor-{}", folder, base::unique_token())) {}
  ~Probe() {
    ::unlink(path_.c_str());
    ::unlink(renamed().c_str());
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  const std::string& path() const { return path_; }
  std::string renamed() const { return path_ + ".renamed"; }

 private:
  std::string path_;
};

/// "", or the step that failed and why.
std::string write_and_rename(const Probe& probe, const base::Descriptor& file) {
  const std::string bytes(4096, 'd');
  const auto why = [](const char* step) {
    return fmt::format("{}: {}", step, std::strerror(errno));
  };
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return why("write");
  }
  if (::fsync(file.get()) != 0) return why("fsync");
  if (::rename(probe.path().c_str(), probe.renamed().c_str()) != 0) return why("rename");
  if (::access(probe.path().c_str(), F_OK) == 0) return "rename: the old name stayed";
  if (::rename(probe.renamed().c_str(), probe.path().c_str()) != 0) return why("rename");
  return "";
}

/// Whether the lock of this process prevents another one from locking the file; nothing if locks
/// are not supported.
std::optional<bool> lock_keeps_out(const std::string& path, const base::Descriptor& file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &lock) != 0) return {};
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) {
    const int again = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ::_exit(again >= 0 && ::fcntl(again, F_SETLK, &lock) == 0 ? 1 : 0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return {};
  return WEXITSTATUS(status) == 0;
}

Finding check_locks(const std::string& path, const Probe& probe, const base::Descriptor& file) {
  const base::Descriptor second(
      ::open(probe.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (second) {
    return make_finding("folder.locks", Verdict::kError, path, "O_EXCL made a file that was there",
                        "creation that fails: runs claim numbers by it",
                        "put results on another file system");
  }
  const auto kept = lock_keeps_out(probe.path(), file);
  if (kept == true)
    return make_finding("folder.locks", Verdict::kOk, path, "O_EXCL and fcntl locks hold");
  return make_finding("folder.locks", Verdict::kWarning, path,
                      kept ? "two processes locked one file" : "fcntl locks are refused",
                      "locks: two runs may otherwise take up one checkpoint",
                      "mount it with locks (Lustre: -o flock; NFS: without nolock)");
}

Finding check_space(const std::string& path, const Volume& volume, std::int64_t wanted) {
  constexpr std::int64_t kLeastInodes = 100;
  Finding space =
      make_finding("folder.space", Verdict::kOk, path,
                   fmt::format("{} free, {}", bytes_text(volume.free_bytes), volume.type));
  space.value = static_cast<double>(volume.free_bytes);
  if (volume.free_bytes < wanted) {
    space.verdict = Verdict::kError;
    space.expected = bytes_text(wanted) + " for weights and checkpoints";
    space.remedy = "remove files there, or choose another folder by --set results.directory=FOLDER";
  } else if (volume.free_inodes && *volume.free_inodes < kLeastInodes) {
    space.verdict = Verdict::kError;
    space.measured = fmt::format("{} inodes free, {}", *volume.free_inodes, volume.type);
    space.expected = fmt::format("{} inodes", kLeastInodes);
    space.remedy = "remove files there: it has no room for new names";
  }
  return space;
}

}  // namespace

std::string nearest_folder(const std::string& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error);
  while (!fs::is_directory(folder, error) && folder != folder.root_path()) {
    folder = folder.parent_path();
  }
  return folder.string();
}

Finding check_dataset(const std::string& path, const std::string& workload) {
  const auto missing = [&](const std::string& why) {
    return make_finding(
        "folder.dataset", Verdict::kError, path, why, "it can be read on every node",
        fmt::format("name its place by --set dataset.KEY=PATH, copy it there, or make a "
                    "synthetic one by `trainmark generate {} FOLDER`",
                    workload));
  };
  std::error_code error;
  fs::path file = path;
  if (!fs::exists(file, error)) {
    return missing(error ? error.message() : std::strerror(ENOENT));
  }
  // Reads down to the first file: a folder may be listable although its files are unreadable.
  for (int depth = 0; depth < 8 && fs::is_directory(file, error); ++depth) {
    const fs::directory_iterator first(file, error);
    if (error) return missing(file.string() + ": " + error.message());
    if (first == fs::directory_iterator()) return missing(file.string() + ": is empty");
    file = first->path();
  }
  // Opening a FIFO would otherwise wait for a writer.
  const base::Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 1> byte{};
  if (!opened || ::read(opened.get(), byte.data(), 1) < 0) {
    return missing(file.string() + ": " + std::strerror(errno));
  }
  return make_finding("folder.dataset", Verdict::kOk, path, volume_of(nearest_folder(path)).type);
}

std::optional<std::int64_t> dataset_bytes(const std::vector<std::string>& paths) {
  constexpr std::chrono::milliseconds kPatience(300);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::int64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      const auto size = fs::file_size(path, error);
      if (!error) bytes += static_cast<std::int64_t>(size);
      continue;
    }
    fs::recursive_directory_iterator it(path, error);
    for (const fs::recursive_directory_iterator last; !error && it != last; it.increment(error)) {
      if (std::chrono::steady_clock::now() > end) return {};
      const auto size = it->is_regular_file(error) ? it->file_size(error) : 0;
      if (!error) bytes += static_cast<std::int64_t>(size);
    }
    if (error) return {};
  }
  return bytes;
}

Findings check_folder(const std::string& path, std::int64_t wanted_bytes) {
  const std::string folder = nearest_folder(path);
  const Probe probe(folder);
  const base::Descriptor file(
      ::open(probe.path().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string failure =
      file ? write_and_rename(probe, file) : std::string("create: ") + std::strerror(errno);
  if (!failure.empty()) {
    return {make_finding(
        "folder.write", Verdict::kError, path, folder + ": " + failure, "files can be written",
        fmt::format("give user {} the right to write to {}, free space there, or choose "
                    "another folder",
                    ::getuid(), folder))};
  }
  return {make_finding("folder.write", Verdict::kOk, path, "written, synced, renamed"),
          check_space(path, volume_of(folder), wanted_bytes), check_locks(path, probe, file)};
}

Findings check_scratch(const Needs& needs, std::optional<std::int64_t> staged_bytes,
                       std::optional<std::int64_t> memory_available) {
  const std::string& path = needs.folders.scratch;
  Findings findings = check_folder(path, 0);
  if (findings.size() == 1) return findings;  // not writable
  findings.pop_back();                        // no locks are needed there
  Finding& space = findings.back();
  const Volume volume = volume_of(nearest_folder(path));
  std::int64_t free = volume.free_bytes;
  if (volume.is_in_memory && memory_available) {
    free = std::min(free, std::max<std::int64_t>(*memory_available - needs.node_bytes, 0));
    space.measured = fmt::format("{} free, {}, which takes memory", bytes_text(free), volume.type);
    space.value = static_cast<double>(free);
  }
  const char* const remedy = "--set staging.directory=FOLDER on a local disk, or export TMPDIR";
  if (volume.is_network) {
    space.verdict = Verdict::kNote;
    space.expected = "storage of the node itself";
    space.remedy = remedy;
  }
  if (needs.stages && staged_bytes && free < *staged_bytes) {
    space.verdict = Verdict::kWarning;
    space.expected = fmt::format(
        "{} for a whole copy of the data; `trainmark stage CONFIG "
        "--dry-run` tells what a node takes",
        bytes_text(*staged_bytes));
    space.remedy = remedy;
  }
  return findings;
}

}  // namespace doctor
