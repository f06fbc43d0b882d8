// Measures the CPU use of all processes from two samples of their CPU time.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "runner/doctor/host_facts.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

/// Fields of /proc/<pid>/stat.
struct Usage {
  std::string name;
  std::int64_t parent = 0, session = 0, ticks = 0;
};

std::optional<Usage> read_usage(const fs::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  Usage usage{line.substr(open + 1, close - open - 1)};
  std::istringstream fields(line.substr(close + 1));
  std::string state, skipped;
  std::int64_t group = 0, user = 0, system = 0;
  fields >> state >> usage.parent >> group >> usage.session;
  for (int i = 0; i < 7; ++i) fields >> skipped;
  if (!(fields >> user >> system)) return {};
  usage.ticks = user + system;
  return usage;
}

std::map<std::int64_t, Usage> look(const fs::path& root) {
  std::map<std::int64_t, Usage> all;
  std::error_code error;
  for (fs::directory_iterator it(root / "proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto usage = read_usage(it->path())) all[std::stoll(name)] = *usage;
  }
  return all;
}

std::int64_t owner(const fs::path& folder) {
  std::ifstream file(folder / "status");
  for (std::string key; file >> key;) {
    std::int64_t user = -1;
    if (key == "Uid:" && file >> user) return user;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return -1;
}

/// A process and all its ancestors.
std::set<std::int64_t> with_ancestors(const std::map<std::int64_t, Usage>& all,
                                      std::int64_t process) {
  std::set<std::int64_t> line;
  for (auto at = all.find(process); at != all.end() && line.insert(at->first).second;) {
    at = all.find(at->second.parent);
  }
  return line;
}

}  // namespace

std::vector<BusyProcess> busy_processes(const fs::path& root, double pause_s,
                                        std::int64_t job_root) {
  constexpr double kLeast = 0.1;
  const auto before = look(root);
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
  const auto after = look(root);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const std::set<std::int64_t> above = with_ancestors(after, job_root);
  std::vector<BusyProcess> busy;
  for (const auto& [process, usage] : after) {
    const auto earlier = before.find(process);
    if (earlier == before.end() || above.contains(process) ||
        with_ancestors(after, process).contains(job_root)) {
      continue;
    }
    const double seconds = static_cast<double>(usage.ticks - earlier->second.ticks) /
                           static_cast<double>(::sysconf(_SC_CLK_TCK));
    if (seconds / took.count() < kLeast) continue;
    busy.push_back({process, owner(root / "proc" / std::to_string(process)), usage.name,
                    seconds / took.count()});
  }
  std::ranges::sort(busy, std::greater<>(), &BusyProcess::cpus);
  return busy;
}

}  // namespace doctor
