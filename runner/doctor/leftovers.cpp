// Finds files of this user's dead processes on this node.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string_view>

#include "runner/base/process_state.h"
#include "runner/base/system_facts.h"
#include "runner/doctor/folder_checks.h"
#include "runner/documents.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kSegments = {"vader_segment.", "sm_segment.", "osc_sm.",
                                                       "osc_rdma."};

/// Owned by this user and unchanged for a minute, so that starting processes are excluded.
bool is_old_and_mine(const fs::path& path) {
  constexpr std::time_t kMinute = 60;
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && facts.st_uid == ::getuid() &&
         std::time(nullptr) - facts.st_mtime > kMinute;
}

/// The process number after `mark` at the end of `name`.
std::optional<long> process_behind(const std::string& name, const std::string& mark) {
  const std::size_t place = name.rfind(mark);
  if (place == std::string::npos) return {};
  long process = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + place + mark.size(), end, process);
  if (parsed.ec != std::errc() || parsed.ptr != end || process <= 0) return {};
  return process;
}

template <class Keep>
std::vector<fs::path> entries(const fs::path& folder, Keep keep) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (keep(it->path())) found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

/// Removes from `files` those that some process has mapped.
void remove_mapped(std::vector<fs::path>& files) {
  if (files.empty()) return;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    std::ifstream maps(it->path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      std::erase_if(files, [&](const fs::path& file) { return line.ends_with(file.string()); });
    }
  }
}

std::int64_t bytes_below(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const auto size = fs::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(size);
  }
  std::int64_t bytes = 0;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) bytes += static_cast<std::int64_t>(it->file_size(error));
  }
  return bytes;
}

void add(Findings& findings, const std::string& subject, const std::vector<fs::path>& paths) {
  constexpr std::size_t kNamed = 5;
  if (paths.empty()) return;
  std::int64_t bytes = 0;
  std::string command = "rm -r --";
  for (const fs::path& path : paths) bytes += bytes_below(path);
  for (std::size_t i = 0; i < std::min(kNamed, paths.size()); ++i)
    command += " " + paths[i].string();
  if (paths.size() > kNamed) command += fmt::format("  (and {} more)", paths.size() - kNamed);
  findings.push_back({"folder.leftovers",
                      Verdict::kNote,
                      subject,
                      fmt::format("{} of dead processes, {}", paths.size(),
                                  runner::bytes_text(static_cast<double>(bytes))),
                      "none",
                      command,
                      {}});
}

}  // namespace

Findings check_leftovers(const std::string& scratch, const fs::path& temporary,
                         const fs::path& shared_memory) {
  Findings findings;
  const std::string host = base::host_name();
  add(findings, scratch, entries(scratch, [&](const fs::path& path) {
        const auto process = process_behind(path.filename().string(), ".part." + host + ".");
        return process && !base::is_alive(*process);
      }));
  auto segments = entries(shared_memory, [](const fs::path& path) {
    const std::string name = path.filename().string();
    return std::ranges::any_of(kSegments, [&](auto prefix) { return name.starts_with(prefix); }) &&
           is_old_and_mine(path);
  });
  remove_mapped(segments);
  add(findings, shared_memory.string(), segments);
  const fs::path sessions = temporary / fmt::format("ompi.{}.{}", host, ::getuid());
  add(findings, sessions.string(), entries(sessions, [](const fs::path& path) {
        const auto process = process_behind(path.filename().string(), "pid.");
        return process && !base::is_alive(*process) && is_old_and_mine(path);
      }));
  if (findings.empty()) {
    findings.push_back(
        {"folder.leftovers", Verdict::kOk, "", "nothing of dead processes", "", "", {}});
  }
  return findings;
}

}  // namespace doctor
