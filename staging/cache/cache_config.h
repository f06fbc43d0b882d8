// The "cache" section of a configuration: of the workloads that read a set of samples again and
// again.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "runner/base/object_reader.h"

namespace cache {

/// Which samples are kept where not all fit.
enum class Policy {
  kNextUse,  ///< those that are drawn next, as the order of the run tells
  kLru,      ///< those that were drawn last
  kNone      ///< none
};
const char* to_string(Policy policy);

/// Whether ranks give each other what they keep.
enum class Peering { kAsk, kIgnore };

struct CacheConfig {
  std::int64_t memory_bytes = 0, disk_bytes = 0;  ///< of a node, for encoded samples
  Policy policy = Policy::kNextUse;
  Peering peers = Peering::kAsk;
  bool keeps() const { return policy != Policy::kNone && memory_bytes + disk_bytes > 0; }
};

nlohmann::json to_json(const CacheConfig& config);

CacheConfig parse_cache(const base::ObjectReader& section);

}  // namespace cache
