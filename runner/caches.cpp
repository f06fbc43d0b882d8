// Drops page caches through /proc, or the data's files by advice, and checks with mincore.
#include "runner/caches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "runner/agreed_error.h"
#include "runner/base/ceil_div.h"
#include "runner/base/descriptor.h"
#include "runner/base/units.h"

namespace runner {
namespace {

constexpr std::size_t kProbeBytes = std::size_t{1} << 20;
/// By convention on a disk, unlike /tmp: a memory file system never drops its pages.
constexpr char kProbeTemplate[] = "/var/tmp/trainmark-probe-XXXXXX";
constexpr char kDropCaches[] = "/proc/sys/vm/drop_caches";
constexpr char kProved[] = "a resident file was no longer resident";

/// An unlinked file, written, synced and read, so that its pages are clean and resident.
base::Descriptor make_probe() {
  std::array<char, sizeof(kProbeTemplate)> path{};
  std::memcpy(path.data(), kProbeTemplate, sizeof(kProbeTemplate));
  base::Descriptor file(::mkstemp(path.data()));
  if (!file) return file;
  ::unlink(path.data());
  std::vector<char> bytes(kProbeBytes, 'p');
  const bool ready =
      ::pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
      ::fsync(file.get()) == 0 &&
      ::pread(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  return ready ? std::move(file) : base::Descriptor();
}

/// The number of the probe's pages in memory; nothing if the kernel does not tell.
std::optional<std::size_t> resident_pages(const base::Descriptor& probe) {
  void* map = ::mmap(nullptr, kProbeBytes, PROT_READ, MAP_SHARED, probe.get(), 0);
  if (map == MAP_FAILED) return std::nullopt;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(base::ceil_div(kProbeBytes, page));
  const int failed = ::mincore(map, kProbeBytes, pages.data());
  ::munmap(map, kProbeBytes);
  if (failed != 0) return std::nullopt;
  std::size_t resident = 0;
  for (const unsigned char flags : pages) resident += flags & 1U;
  return resident;
}

}  // namespace

CacheClearing clear_page_cache() {
  const base::Descriptor probe = make_probe();
  if (!probe) return {false, "no probe file could be made in /var/tmp, so nothing would be proved"};
  if (resident_pages(probe).value_or(0) == 0) {
    return {false, "the kernel does not show that a file just read is resident"};
  }
  const base::Descriptor drop(::open(kDropCaches, O_WRONLY | O_CLOEXEC));
  if (!drop) return {false, fmt::format("cannot open {}: {}", kDropCaches, std::strerror(errno))};
  // The kernel does not drop dirty pages.
  ::sync();
  if (::write(drop.get(), "3\n", 2) != 2) {
    return {false, fmt::format("cannot write {}: {}", kDropCaches, std::strerror(errno))};
  }
  if (resident_pages(probe).value_or(1) != 0) {
    return {false, fmt::format("{} was written, but a file stayed resident", kDropCaches)};
  }
  return {true, kProved};
}

namespace {

/// Collective. The answer of the lowest rank whose node's caches were not dropped, else of all.
CacheClearing drop_on_all_nodes(const CacheDoors& doors, const Communicator& world,
                                const Topology& topology) {
  CacheClearing mine{true, kProved};
  if (topology.is_node_leader()) mine = doors.drop();
  const std::int64_t speaker =
      world.allreduce_min(mine.cleared ? std::int64_t{world.size()} : std::int64_t{world.rank()});
  if (speaker == world.size()) return {true, kProved};
  return {false,
          fmt::format("node {}: {}", topology.node_of_rank[static_cast<std::size_t>(speaker)],
                      world.broadcast(mine.reason, static_cast<int>(speaker)))};
}

/// `dropped`: what drop_on_all_nodes() says; `found`: what the data's files say afterwards.
CacheClearing judge(const CacheClearing& dropped, const CachedData& found) {
  const nlohmann::json data = to_json(found);
  const std::string how =
      dropped.cleared ? "" : fmt::format(" after advice to drop them ({})", dropped.reason);
  if (found.known_nodes > 0 && found.warm_max > kColdShare) {
    return {false,
            fmt::format("{:.1f} % of the data's files are in the memory of {}{}",
                        base::kPercent * found.warm_max, found.warmest, how),
            data};
  }
  if (!found.is_known()) {
    return {dropped.cleared, fmt::format("{}; {}", dropped.reason, found.unknown()), data};
  }
  return {true,
          fmt::format("at most {:.1f} % of the data's files are in the memory of a node{}",
                      base::kPercent * found.warm_max, how),
          data};
}

}  // namespace

CacheClearing clear_caches(const std::string& mode, const CacheDoors& doors,
                           const Communicator& world, const Topology& topology) {
  if (mode == "never") return {false, "the configuration says never"};
  CacheClearing clearing = drop_on_all_nodes(doors, world, topology);
  if (!doors.data.empty()) {
    if (!clearing.cleared) advise_data_out(doors.data, world, topology);
    clearing = judge(clearing, look_at_data(doors.data, doors.probes, kLookBeforeTheRun, world,
                                            topology, doors.clock, doors.calls));
  }
  if (mode == "required" && !clearing.cleared) {
    throw AgreedError(base::ExitCode::kSystem, "/clear_caches is required, but " + clearing.reason);
  }
  return clearing;
}

CacheClearing clear_caches(const RunConfig& config, const Workload& workload,
                           const Communicator& world, const Topology& topology,
                           const base::Clock& clock) {
  // With the counts in the configuration, no byte of the data is read before run_start.
  const bool counts_known = workload.info().train_samples > 0;
  const CacheDoors doors{
      .data = data_paths(config.reader.resolved()),
      .probes = counts_known ? base::Probes::kWithoutReading : base::Probes::kAlsoReading,
      .clock = clock};
  return clear_caches(config.clear_caches, doors, world, topology);
}

nlohmann::json look_while_staging(const RunConfig& config, const Communicator& world,
                                  const Topology& topology, const base::Clock& clock) {
  const std::vector<std::string> paths = data_paths(config.reader.resolved());
  if (paths.empty()) return nullptr;
  return to_json(
      look_at_data(paths, base::Probes::kAlsoReading, kLookWhileStaging, world, topology, clock));
}

}  // namespace runner
