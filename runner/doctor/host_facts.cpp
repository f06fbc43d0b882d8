// Reads /proc, /sys, limits and clocks.
#include "runner/doctor/host_facts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <sstream>

#include "runner/base/clock.h"
#include "runner/base/descriptor.h"
#include "runner/base/system_facts.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// "always [madvise] never" -> "madvise".
std::string chosen_word(const std::string& line) {
  const std::size_t open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  return line.substr(open + 1, close - open - 1);
}

/// The text after the colon in the first line `name : value`.
std::string field(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) return line.substr(colon + 1);
  }
  return "";
}

std::set<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> all;
  for (std::string word; in >> word;) all.insert(word);
  return all;
}

std::optional<std::int64_t> kib_field(const fs::path& file, const std::string& name) {
  std::istringstream in(field(file, name));
  std::int64_t kib = 0;
  if (in >> kib) return kib * 1024;
  return {};
}

Limit soft_limit(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return static_cast<std::int64_t>(
      std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<std::int64_t>::max()));
}

Limits read_limits() {
  return {soft_limit(RLIMIT_NOFILE), soft_limit(RLIMIT_NPROC), soft_limit(RLIMIT_MEMLOCK),
          soft_limit(RLIMIT_FSIZE),  soft_limit(RLIMIT_AS),    soft_limit(RLIMIT_CPU),
          soft_limit(RLIMIT_STACK),  soft_limit(RLIMIT_CORE)};
}

double clock_read_ns() {
  constexpr int kReads = 2000;
  const base::SystemClock clock;
  const std::int64_t begin = clock.steady_ns();
  std::int64_t end = begin;
  for (int i = 0; i < kReads; ++i) end = clock.steady_ns();
  return static_cast<double>(end - begin) / kReads;
}

std::optional<bool> clock_synchronized() {
  timex state{};
  const int status = ::adjtimex(&state);
  if (status < 0) return {};
  return status != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

/// Whether a clean file that was just written leaves the page cache on request.
std::optional<bool> advice_works() {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  std::array<char, 64> path{"/var/tmp/trainmark-doctor-XXXXXX"};
  const base::Descriptor file(::mkstemp(path.data()));
  if (!file) return {};
  ::unlink(path.data());
  const std::vector<char> bytes(kBytes, 'p');
  if (::write(file.get(), bytes.data(), kBytes) != static_cast<ssize_t>(kBytes) ||
      ::fsync(file.get()) != 0) {
    return {};
  }
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  void* map = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) return {};
  std::vector<unsigned char> pages(kBytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + 1);
  const int failed = ::mincore(map, kBytes, pages.data());
  ::munmap(map, kBytes);
  if (failed != 0) return {};
  return std::ranges::none_of(pages, [](unsigned char page) { return (page & 1U) != 0; });
}

void read_shm(const fs::path& root, HostFacts& facts) {
  struct statvfs volume {};
  if (::statvfs((root / "dev/shm").c_str(), &volume) != 0) return;
  facts.shm_free = static_cast<std::int64_t>(volume.f_bavail * volume.f_frsize);
  facts.shm_total = static_cast<std::int64_t>(volume.f_blocks * volume.f_frsize);
}

/// Threads of this user, which process limits count.
std::optional<std::int64_t> user_threads(const fs::path& root) {
  std::int64_t threads = 0;
  std::error_code error;
  for (fs::directory_iterator it(root / "proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::istringstream owner(field(it->path() / "status", "Uid"));
    std::int64_t user = -1, count = 0;
    if (!(owner >> user) || user != static_cast<std::int64_t>(::getuid())) continue;
    std::istringstream(field(it->path() / "status", "Threads")) >> count;
    threads += count;
  }
  if (threads == 0) return {};
  return threads;
}

}  // namespace

HostFacts read_host(const fs::path& root) {
  HostFacts facts;
  facts.host = base::host_name();
  facts.cpu_flags = words(field(root / "proc/cpuinfo", "flags"));
  facts.instruction_set = base::to_string(base::usable_instruction_set());
  const fs::path cpus = root / "sys/devices/system/cpu";
  facts.governor = first_line(cpus / "cpu0/cpufreq/scaling_governor");
  facts.huge_pages = chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.clock_source =
      first_line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string smt = first_line(cpus / "smt/active");
  if (!smt.empty()) facts.smt = smt == "1";
  facts.memory_available = kib_field(root / "proc/meminfo", "MemAvailable");
  facts.online_cpus = std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
  facts.cgroup = base::cgroup_limits(root);
  facts.limits = read_limits();
  if (facts.limits.processes) facts.user_processes = user_threads(root);
  std::error_code error;
  const fs::directory_iterator infiniband(root / "sys/class/infiniband", error);
  facts.has_infiniband = !error && infiniband != fs::directory_iterator();
  facts.clock_read_ns = clock_read_ns();
  facts.clock_synchronized = clock_synchronized();
  facts.can_drop_caches = ::access((root / "proc/sys/vm/drop_caches").c_str(), W_OK) == 0;
  facts.advice_works = advice_works();
  read_shm(root, facts);
  return facts;
}

}  // namespace doctor
