// Searches /proc for processes with the environment of this job.
#include "runner/launch/local_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/printable.h"
#include "runner/base/process_state.h"

namespace launch {
namespace {

namespace fs = std::filesystem;

/// Most ranks that a message names; more would obscure it.
constexpr std::size_t kMostNamed = 4;
/// Every process waits for a device now and then. A wait is reported if it lasts for all looks.
constexpr int kLooks = 10;
constexpr std::chrono::milliseconds kLookEvery(50);

Environment environment_of(const fs::path& process) {
  std::ifstream file(process / "environ", std::ios::binary);
  Environment all;
  for (std::string entry; std::getline(file, entry, '\0');) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

std::optional<std::int64_t> rank_in(const Environment& environment) {
  try {
    const Launcher launcher = launcher_of(environment);
    if (launcher.kind == LauncherKind::kNone) return std::nullopt;
    return launcher.rank;
  } catch (const base::ConfigError&) {
    return std::nullopt;
  }
}

/// PMIx names jobs; the ranks of other launchers share a parent, this host's daemon.
bool is_same_job(const Environment& mine, const Environment& other, std::int64_t my_parent,
                 std::int64_t other_parent) {
  const std::string name = value_of(mine, "PMIX_NAMESPACE");
  if (!name.empty()) return value_of(other, "PMIX_NAMESPACE") == name;
  return kind_of(mine) == kind_of(other) && my_parent == other_parent;
}

bool is_stopped(const LocalRank& rank) { return rank.state == 'T' || rank.state == 't'; }
bool waits_for_device(const LocalRank& rank) { return rank.state == 'D'; }
bool has_ended(const LocalRank& rank) { return rank.state == 'Z' || rank.state == 'X'; }

template <class Is>
std::string named(const std::vector<LocalRank>& ranks, Is is) {
  std::vector<std::string> names;
  for (const LocalRank& rank : ranks) {
    if (is(rank)) names.push_back(fmt::format("rank {} (process {})", rank.rank, rank.process));
  }
  const std::size_t more = names.size() > kMostNamed ? names.size() - kMostNamed : 0;
  names.resize(names.size() - more);
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (more > 0) text += fmt::format(" and {} more", more);
  return text;
}

void outlast_short_waits(std::vector<LocalRank>& ranks) {
  for (int look = 0; look < kLooks && std::ranges::any_of(ranks, waits_for_device); ++look) {
    std::this_thread::sleep_for(kLookEvery);
    for (LocalRank& rank : ranks) {
      if (!waits_for_device(rank)) continue;
      const auto now = base::process_state(rank.process);
      rank.state = now ? now->state : 'X';
    }
  }
}

/// How many of this host's ranks have no process; 0 if the number started is unknown.
std::int64_t without_process(const std::vector<LocalRank>& ranks, const Launcher& launcher) {
  std::set<std::int64_t> alive;
  for (const LocalRank& rank : ranks) {
    if (!has_ended(rank)) alive.insert(rank.rank);
  }
  return std::max<std::int64_t>(launcher.local_ranks - static_cast<std::int64_t>(alive.size()), 0);
}

/// The job's hosts in parentheses, if its scheduler names them.
std::string hosts_of(const Environment& mine) {
  // mpirun starts its daemons as a step on all nodes but its own.
  const bool has_step = kind_of(mine) != LauncherKind::kMpirun;
  std::string hosts = has_step ? value_of(mine, "SLURM_STEP_NODELIST") : "";
  if (hosts.empty()) hosts = value_of(mine, "SLURM_JOB_NODELIST");
  if (hosts.empty()) hosts = value_of(mine, "LSB_HOSTS");
  return hosts.empty() ? "" : fmt::format(" ({})", base::printable(hosts));
}

}  // namespace

std::vector<LocalRank> local_ranks(const Environment& mine) {
  const auto own = base::process_state(::getpid());
  std::vector<LocalRank> ranks;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    LocalRank found;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), found.process);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    const auto state = base::process_state(found.process);
    if (!state || !own) continue;
    const Environment other = environment_of(it->path());
    const auto rank = rank_in(other);
    if (!rank || !is_same_job(mine, other, own->parent, state->parent)) continue;
    found.rank = *rank;
    found.state = state->state;
    ranks.push_back(found);
  }
  outlast_short_waits(ranks);
  std::ranges::sort(ranks, {}, [](const LocalRank& rank) { return rank.rank; });
  return ranks;
}

MissingRanks missing_ranks(const std::vector<LocalRank>& ranks, const Launcher& launcher,
                           const Environment& mine) {
  MissingRanks missing;
  const auto add = [&](const std::string& clause) {
    missing.here += (missing.here.empty() ? "" : "; ") + clause;
  };
  if (const std::string who = named(ranks, is_stopped); !who.empty()) {
    add("stopped on this host (by SIGSTOP or a debugger; kill -CONT ends that): " + who);
  }
  if (const std::string who = named(ranks, waits_for_device); !who.empty()) {
    add("waiting on this host for a disk or a file system: " + who);
  }
  if (const std::int64_t count = without_process(ranks, launcher); count > 0) {
    add(fmt::format("of the {} ranks of this host {} {} no process", launcher.local_ranks, count,
                    count == 1 ? "has" : "have"));
  }
  const auto well = std::ranges::find_if(ranks, [](const LocalRank& rank) {
    return !is_stopped(rank) && !waits_for_device(rank) && !has_ended(rank);
  });
  missing.speaker = well == ranks.end() ? launcher.rank : well->rank;
  missing.elsewhere = fmt::format(
      "those of this host are there, so look on the job's other hosts{} for ranks that are stopped "
      "or were not started, and whether the network between the hosts works (trainmark doctor)",
      hosts_of(mine));
  return missing;
}

}  // namespace launch
