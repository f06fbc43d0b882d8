// Checks that ranks account for all of their time; used by every test that trains.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/telemetry/report_file.h"

namespace telemetry {

/// Exchange time of this rank in any outer subsystem.
inline double exposed_exchange_s(const RankReport& rank) {
  const auto exchange = static_cast<std::size_t>(Subsystem::kExchange);
  double seconds = rank.subsystems_s[exchange];
  for (const auto& inner : rank.within_s) seconds += inner[exchange];
  return seconds;
}

inline void expect_whole_account(const Report& report, const std::string& where) {
  constexpr double kWithin = 0.01;         // relative to the wall time
  constexpr double kMoments_s = 1.0;       // a busy machine may start ranks this far apart
  constexpr double kMostOverhead = 0.005;  // relative to the wall time, if that is longer than
                                           // kMoment_s
  constexpr double kMoment_s = 0.2;
  const double first_wall_s = report.ranks.at(0).wall_s;
  for (const RankReport& rank : report.ranks) {
    const std::string who = where + ": rank " + std::to_string(rank.identity.rank);
    double sum = 0.0;
    for (const double seconds : rank.subsystems_s) sum += seconds;
    EXPECT_NEAR(sum, rank.wall_s, kWithin * rank.wall_s) << who;
    EXPECT_NEAR(rank.wall_s, first_wall_s, kWithin * first_wall_s + kMoments_s) << who;
    EXPECT_LE(static_cast<double>(rank.step_s.count) * rank.step_s.mean,
              (1.0 + kWithin) * rank.wall_s)
        << who;
    const auto total = static_cast<std::size_t>(Counter::kExchangeTotalNs);
    EXPECT_GE(static_cast<double>(rank.counters[total]) * 1e-9 + 1e-6, exposed_exchange_s(rank))
        << who;
    if (rank.wall_s > kMoment_s) {
      EXPECT_LT(rank.scope_cost_s, kMostOverhead * rank.wall_s) << who;
    }
  }
}

/// Checks every telemetry file below a folder, which need not exist. Returns their number.
inline int expect_whole_accounts(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  int files = 0;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".telemetry.json")) continue;
    ++files;
    EXPECT_NO_THROW(expect_whole_account(read_report(path), path)) << path;
  }
  return files;
}

/// Checks a single entry of rank_entry().
inline void expect_whole_entry(const std::string& entry_text) {
  nlohmann::json entry = nlohmann::json::parse(entry_text);
  const std::string where = "entry of rank " + entry["rank"].dump();
  entry["rank"] = 0;  // it is alone in its report
  const nlohmann::json report = {{"schema", 1},
                                 {"workload", "any"},
                                 {"ranks", nlohmann::json::array({entry})},
                                 {"provenance", nlohmann::json::object()}};
  EXPECT_NO_THROW(expect_whole_account(parse_report(report.dump(), where), where)) << entry_text;
}

}  // namespace telemetry
