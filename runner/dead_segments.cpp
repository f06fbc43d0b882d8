// Finds and removes abandoned shared memory files of Open MPI.
#include "runner/dead_segments.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "runner/base/system_facts.h"

namespace runner {
namespace {

namespace fs = std::filesystem;

/// A starting job creates its files before its ranks map them. If another container's job takes
/// longer than this, its ranks keep what they have mapped already.
constexpr std::time_t kStartS = 30;

/// Of Open MPI 4's and 5's messages within a node, and of its windows.
std::array<std::string, 3> prefixes() {
  const std::string host = base::host_name();
  return {fmt::format("vader_segment.{}.{}.", host, ::geteuid()),
          fmt::format("sm_segment.{}.{}.", host, ::geteuid()), fmt::format("osc_sm.{}.", host)};
}

std::vector<fs::path> candidates(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  const auto known = prefixes();
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const std::string& prefix) {
      return name.starts_with(prefix);
    });
    struct stat facts {};
    if (!is_known || ::lstat(it->path().c_str(), &facts) != 0) continue;
    const bool is_old = std::time(nullptr) - facts.st_mtime > kStartS;
    if (S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() && is_old)
      found.push_back(it->path());
  }
  return found;
}

/// Names of the files that any process of this user maps. Only file names, since processes may see
/// the folder under different paths.
std::set<std::string> mapped_names() {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string process = it->path().filename().string();
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream maps(it->path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      const std::size_t slash = line.rfind('/');
      if (slash != std::string::npos) names.insert(line.substr(slash + 1));
    }
  }
  return names;
}

}  // namespace

void remove_dead_segments(const std::string& folder) noexcept {
  try {
    const std::vector<fs::path> old = candidates(folder);
    if (old.empty()) return;
    const std::set<std::string> mapped = mapped_names();
    std::error_code error;
    for (const fs::path& path : old) {
      if (!mapped.contains(path.filename().string())) fs::remove(path, error);
    }
  } catch (const std::exception&) {
    // The job does not depend on this cleanup.
  }
}

}  // namespace runner
