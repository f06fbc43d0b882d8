// Drops the page caches before a run and proves it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/cached_data.h"
#include "runner/communicator.h"
#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

struct CacheClearing {
  bool cleared = false;      ///< true only if every node proved it
  std::string reason;        ///< why not, or how it was proved; the same on every rank
  nlohmann::json data = {};  ///< CachedData of the data's own files; null if nobody looked
};

/// Drops this machine's page cache, as only root may. Proof: a probe file that was resident no
/// longer is.
CacheClearing clear_page_cache();

/// What clear_caches() needs besides the ranks.
struct CacheDoors {
  std::vector<std::string> data;  ///< data_paths()
  /// Looking must not read the data of a run whose data may not be touched before run_start.
  base::Probes probes = base::Probes::kWithoutReading;
  const base::Clock& clock;
  std::function<CacheClearing()> drop = clear_page_cache;  ///< called on one rank per node
  base::PageCalls calls = base::system_page_calls();
};

/// A larger part of a node's data in memory is not called cold.
inline constexpr double kColdShare = 0.01;

/// Collective. Drops the page caches; where that takes rights that this user lacks, advises the
/// data's own files out, which does not. Then looks at these files: on every node at most
/// kColdShare of what was looked at may still be in memory. Where the data cannot be looked at,
/// only caches that clear_page_cache() dropped are cleared.
///
/// Naming, opening and advising files, and asking where their pages are, reads no byte of a sample
/// and leaves none in memory: it is part of clearing caches, which the rules want before run_start,
/// and no access to the data.
///
/// `mode` as RunConfig::clear_caches: auto, never, required. Throws AgreedError if mode is required
/// and the caches were not cleared.
CacheClearing clear_caches(const std::string& mode, const CacheDoors& doors,
                           const Communicator& world, const Topology& topology);

/// Collective. The same for a run, before it opens its data.
CacheClearing clear_caches(const RunConfig& config, const Workload& workload,
                           const Communicator& world, const Topology& topology,
                           const base::Clock& clock);

/// Collective. What of a run's data is in memory when staging begins, for the log; null if the
/// configuration names no data. May read, so call it after run_start. Takes little of the time to
/// train (kLookWhileStaging).
nlohmann::json look_while_staging(const RunConfig& config, const Communicator& world,
                                  const Topology& topology, const base::Clock& clock);

}  // namespace runner
