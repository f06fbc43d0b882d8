// Power logs for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/submission/submission_tree.h"

namespace golden {

/// The start of power logs, in milliseconds since 1970.
inline constexpr std::int64_t kPowerStartMs = 1'700'000'000'000;

/// A reading: seconds since kPowerStartMs, and the power as JSON text.
struct Reading {
  double second = 0.0;
  std::string watts;
};

/// One record of a power log, with the metadata of published ones.
inline std::string power_record(double second, const std::string& key,
                                const std::string& value = "null") {
  return record(key, value, "\"\"", kPowerStartMs + static_cast<std::int64_t>(second * 1000.0));
}

/// Readings, one after each of `count` seconds.
inline std::vector<Reading> readings(int count, const std::function<double(int)>& watts_at) {
  std::vector<Reading> all;
  for (int i = 1; i <= count; ++i) all.push_back({double(i), fmt::format("{}", watts_at(i))});
  return all;
}

inline std::string readings_text(const std::vector<Reading>& readings) {
  std::string text;
  for (const Reading& one : readings) {
    text += power_record(one.second, "power_reading", one.watts);
  }
  return text;
}

inline std::string power_start(const std::string& efficiency = "1.0") {
  return power_record(0, "power_measurement_start") + power_record(0, "conversion_eff", efficiency);
}

/// The log of a node, from second 0 to the last reading.
inline std::string node_log(const std::vector<Reading>& readings,
                            const std::string& efficiency = "1.0") {
  return power_start(efficiency) + readings_text(readings) +
         power_record(readings.back().second, "power_measurement_stop");
}

inline std::string switch_log(double watts, const std::string& efficiency = "1.0") {
  return power_record(0, "conversion_eff", efficiency) +
         power_record(0, "interconnect_power_est", fmt::format("{}", watts));
}

}  // namespace golden
