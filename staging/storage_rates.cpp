// Reading of given rates from a configuration.
#include "staging/storage_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/base/error.h"

namespace staging {
namespace {

struct RateKey {
  const char* name;
  double Rates::*rate;
  const char* help;
};

constexpr std::array<RateKey, 6> kRateKeys = {{
    {"source", &Rates::source,
     "bytes per second that all nodes together read from the source; 0: all rates are measured"},
    {"source_of_node", &Rates::source_of_node,
     "bytes per second that one node reads alone; 0: no bound of its own"},
    {"source_files", &Rates::source_files,
     "samples per second that all nodes read, where each has a file; 0: no bound"},
    {"network", &Rates::network,
     "bytes per second into a node while each receives from another; 0: unknown"},
    {"local_write", &Rates::local_write, "bytes per second written to a node's folder"},
    {"local_read", &Rates::local_read, "bytes per second read from a node's folder"},
}};

/// Either none is given, or all that any choice needs.
void check_given(const base::ObjectReader& section, const Rates& rates) {
  const bool is_any_given = std::any_of(kRateKeys.begin(), kRateKeys.end(),
                                        [&](const RateKey& key) { return rates.*key.rate > 0.0; });
  if (!is_any_given) return;
  for (const char* name : {"source", "local_write", "local_read"}) {
    const auto key = std::find_if(kRateKeys.begin(), kRateKeys.end(), [&](const RateKey& one) {
      return one.name == std::string(name);
    });
    if (rates.*key->rate > 0.0) continue;
    throw base::ConfigError(section.where(name) +
                            ": must be positive where other rates are given, got 0");
  }
}

}  // namespace

nlohmann::json to_json(const Rates& rates) {
  nlohmann::json found;
  for (const RateKey& key : kRateKeys) found[key.name] = rates.*key.rate;
  return found;
}

GivenRates parse_rates(const base::ObjectReader& section) {
  GivenRates given;
  Rates rates;
  for (const RateKey& key : kRateKeys) {
    rates.*key.rate = section.optional<double>(key.name, 0.0, key.help, base::not_negative());
  }
  check_given(section, rates);
  if (rates.source > 0.0) given.rates = rates;
  const auto cache = section.optional<std::int64_t>(
      "cache_bytes", -1, "memory of a node that keeps samples once read; -1: what is free",
      base::at_least(-1));
  if (cache >= 0) given.cache_bytes = cache;
  const auto compute_s = section.optional<double>(
      "epoch_compute_s", 0.0,
      "seconds of computing in an epoch, during which reading goes on; 0: as in an earlier run",
      base::not_negative());
  if (compute_s > 0.0) given.epoch_compute_s = compute_s;
  return given;
}

}  // namespace staging
