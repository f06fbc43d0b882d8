// Drops the page caches before a run and proves it.
#pragma once

#include <string>

#include "runner/communicator.h"

namespace runner {

struct CacheClearing {
  bool cleared = false;  ///< true only if every node proved it
  std::string reason;    ///< why not, or how it was proved; the same on every rank
};

/// Drops this machine's page cache. Proof: a probe file that was resident no longer is.
CacheClearing clear_page_cache();

/// Collective. One rank per node clears. `mode` as RunConfig::clear_caches: auto, never, required.
/// Throws SystemError on every rank if mode is required and the caches were not cleared.
CacheClearing clear_caches(const std::string& mode, const Communicator& world,
                           const Topology& topology);

}  // namespace runner
