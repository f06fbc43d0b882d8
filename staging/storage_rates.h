// How fast storage and network are: measured, or given in a configuration.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runner/base/object_reader.h"

namespace staging {

/// Speeds of storage and network. 0: unknown, and no choice relies on it.
struct Rates {
  double source = 0.0;          ///< bytes per second that all nodes together read from the source
  double source_of_node = 0.0;  ///< that one node reads alone; 0: no bound of its own
  double source_files = 0.0;  ///< samples per second that all nodes read, where each has a file; 0:
                              ///< no bound
  double network = 0.0;       ///< bytes per second into a node while each receives from another
  double local_write = 0.0, local_read = 0.0;  ///< bytes per second in the folder of a node
};

nlohmann::json to_json(const Rates& rates);

/// What a configuration gives instead of what would be measured, so that plans can be repeated.
struct GivenRates {
  std::optional<Rates> rates;               ///< nullopt: measured
  std::optional<std::int64_t> cache_bytes;  ///< nullopt: the memory that is free
  std::optional<double> epoch_compute_s;    ///< nullopt: that of an earlier run, if there is one
};

/// Reads the section "rates". Throws ConfigError for rates without those that any choice needs.
GivenRates parse_rates(const base::ObjectReader& section);

}  // namespace staging
