// What of the data's own files is in the nodes' page caches.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/page_cache.h"
#include "runner/communicator.h"

namespace runner {

/// The files and folders from which a resolved configuration takes its samples.
std::vector<std::string> data_paths(const nlohmann::json& resolved);

/// Of a node: its ranks share the files out.
struct LookLimits {
  std::int64_t files = 0;
  double seconds = 0.0;    ///< half of it for listing the files
  std::int64_t reads = 0;  ///< PageLook: storage answers them after these seconds
};
/// While nothing is timed.
inline constexpr LookLimits kLookBeforeTheRun = {10'000, 2.0, 2'000};
/// Within the time to train.
inline constexpr LookLimits kLookWhileStaging = {10'000, 0.2, 200};

/// The same on every rank. Files and bytes are summed over the nodes, each of which looks at the
/// data for itself.
struct CachedData {
  std::int64_t nodes = 0;
  std::int64_t known_nodes = 0;  ///< those that looked at a page of the data
  std::int64_t files = 0;        ///< found, and within the time for listing them
  std::array<std::int64_t, base::kLookedByCount> looked_by{};  ///< chosen files, by LookedBy
  std::int64_t bytes = 0;                                      ///< of the files looked at
  std::int64_t looked_at_bytes = 0;
  std::int64_t warm_bytes = 0;            ///< FilePages::warm_bytes of these files
  double warm_min = 0.0, warm_max = 0.0;  ///< share of a node's `bytes`; of the known nodes
  std::string warmest;                    ///< the node with warm_max

  std::int64_t looked_at_files() const;
  /// Whether every node could look at every file that it chose.
  bool is_known() const;
  /// What is not known, and why; "" if is_known().
  std::string unknown() const;
};

/// Collective. Looks at some files, evenly spread over all. kWithoutReading reads no byte of them.
CachedData look_at_data(const std::vector<std::string>& paths, base::Probes probes,
                        const LookLimits& limits, const Communicator& world,
                        const Topology& topology, const base::Clock& clock,
                        const base::PageCalls& calls = base::system_page_calls());

/// Collective. Has every node drop the pages of all files (base::advise_out).
void advise_data_out(const std::vector<std::string>& paths, const Communicator& world,
                     const Topology& topology);

/// For the log.
nlohmann::json to_json(const CachedData& data);

}  // namespace runner
