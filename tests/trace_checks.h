// Checks that a trace file is complete and agrees with its own summary.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/content.h"
#include "runner/telemetry/report_file.h"

namespace telemetry {

using Interval = std::pair<std::int64_t, std::int64_t>;  ///< begin and end in nanoseconds

struct ReadEvent {
  std::string name, category;
  Interval at;
  std::int64_t amount = 0;  ///< number of a step, bytes of a transfer
};
/// In order of start, an outer event before its inner ones.
using ReadLine = std::vector<ReadEvent>;

inline std::int64_t length(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : intervals) sum += end - begin;
  return sum;
}

/// The union of the intervals.
inline std::vector<Interval> united(std::vector<Interval> intervals) {
  std::vector<Interval> all;
  std::ranges::sort(intervals);
  for (const Interval& one : intervals) {
    if (!all.empty() && one.first <= all.back().second) {
      all.back().second = std::max(all.back().second, one.second);
    } else {
      all.push_back(one);
    }
  }
  return all;
}

/// The intersection; both arguments are united().
inline std::vector<Interval> common(const std::vector<Interval>& a,
                                    const std::vector<Interval>& b) {
  std::vector<Interval> both;
  for (const Interval& x : a) {
    for (const Interval& y : b) {
      const Interval part = {std::max(x.first, y.first), std::min(x.second, y.second)};
      if (part.first < part.second) both.push_back(part);
    }
  }
  return both;
}

inline std::vector<Interval> intervals_of(const ReadLine& line, const std::string& category,
                                          const std::string& name = "") {
  std::vector<Interval> found;
  for (const ReadEvent& event : line) {
    if (event.category == category && (name.empty() || event.name == name)) {
      found.push_back(event.at);
    }
  }
  return found;
}

/// One rank's part of a trace file.
struct ReadRank {
  nlohmann::json entry;
  std::map<int, ReadLine> lines;  ///< by thread

  const ReadLine& training() const { return lines.at(0); }
  ReadLine transfers() const {
    ReadLine all;
    for (const auto& [number, line] : lines) {
      if (number > 0) all.insert(all.end(), line.begin(), line.end());
    }
    return all;
  }
  /// Seconds in scopes called `name`, without their inner scopes.
  double own_s(const std::string& name) const {
    std::int64_t own = 0;
    for (const ReadEvent& event : training()) {
      if (event.category != "scope" || event.name != name) continue;
      std::vector<Interval> inner;
      for (const ReadEvent& other : training()) {
        const bool is_inner = &other > &event && other.category == "scope" &&
                              other.at.first >= event.at.first &&
                              other.at.second <= event.at.second;
        if (is_inner) inner.push_back(other.at);
      }
      own += length({event.at}) - length(united(inner));
    }
    return static_cast<double>(own) * 1e-9;
  }
};

inline std::vector<ReadRank> read_trace(const std::filesystem::path& path) {
  const nlohmann::json file = nlohmann::json::parse(base::content(path));
  std::vector<ReadRank> ranks;
  for (const nlohmann::json& entry : file.at("otherData").at("ranks")) ranks.push_back({entry, {}});
  for (const nlohmann::json& event : file.at("traceEvents")) {
    if (event.at("ph") == "M") continue;
    EXPECT_EQ(event.at("ph"), "X");
    const std::int64_t begin = std::llround(1e3 * event.at("ts").get<double>());
    ReadEvent read{event.at("name"),
                   event.at("cat"),
                   {begin, begin + std::llround(1e3 * event.at("dur").get<double>())}};
    const nlohmann::json args = event.value("args", nlohmann::json::object());
    if (!args.empty() && args.begin()->is_number()) read.amount = *args.begin();
    ranks.at(event.at("pid")).lines[event.at("tid")].push_back(read);
  }
  for (ReadRank& rank : ranks) {
    for (auto& [number, line] : rank.lines) {
      std::ranges::stable_sort(line, [](const ReadEvent& a, const ReadEvent& b) {
        return a.at.first != b.at.first ? a.at.first < b.at.first : a.at.second > b.at.second;
      });
    }
  }
  return ranks;
}

/// An event must lie within an open one, or after it.
inline void expect_nested(const ReadLine& line, const std::string& where) {
  std::vector<Interval> open;
  for (const ReadEvent& event : line) {
    EXPECT_LE(event.at.first, event.at.second) << where << event.name;
    while (!open.empty() && open.back().second <= event.at.first) open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(event.at.second, open.back().second) << where << event.name;
    }
    open.push_back(event.at);
  }
}

inline void expect_times(const nlohmann::json& times, const std::vector<Interval>& transfers,
                         const ReadRank& rank, const std::string& where) {
  constexpr double kWithin_s = 1e-6;
  const auto in_flight = common(united(transfers), united(intervals_of(rank.training(), "step")));
  const auto exposed =
      common(in_flight, united(intervals_of(rank.training(), "scope", "exchange")));
  const std::string who = where + times.at("name").get<std::string>();
  EXPECT_NEAR(times.at("in_flight_s"), static_cast<double>(length(in_flight)) * 1e-9, kWithin_s)
      << who;
  EXPECT_NEAR(times.at("exposed_s"), static_cast<double>(length(exposed)) * 1e-9, kWithin_s) << who;
  EXPECT_NEAR(times.at("exposed_s").get<double>() + times.at("hidden_s").get<double>(),
              times.at("in_flight_s"), 1e-9)
      << who;
  EXPECT_GE(times.at("hidden_s"), 0.0) << who;
}

/// Expects steps first..last on every rank, all scopes and layers inside them, and a matching
/// summary.
inline void expect_whole_trace(const std::vector<ReadRank>& ranks, std::int64_t first,
                               std::int64_t last) {
  for (const ReadRank& rank : ranks) {
    const std::string where = "rank " + rank.entry.at("rank").dump() + ": ";
    for (const auto& [number, line] : rank.lines) expect_nested(line, where);
    std::int64_t next = first;
    for (const ReadEvent& event : rank.training()) {
      if (event.category != "step") continue;
      EXPECT_EQ(event.amount, next++) << where;
    }
    EXPECT_EQ(next, last + 1) << where;
    const auto steps = united(intervals_of(rank.training(), "step"));
    EXPECT_NEAR(rank.entry.at("steps_s"), static_cast<double>(length(steps)) * 1e-9, 1e-6) << where;
    for (const char* category : {"scope", "layer"}) {
      const auto inner = united(intervals_of(rank.training(), category));
      EXPECT_EQ(length(common(inner, steps)), length(inner)) << where << category;
    }
    for (const nlohmann::json& times : rank.entry.at("transfers")) {
      expect_times(times, intervals_of(rank.transfers(), "transfer", times.at("name")), rank,
                   where);
    }
    expect_times(rank.entry.at("all_transfers"), intervals_of(rank.transfers(), "transfer"), rank,
                 where);
  }
}

/// Scopes must account for each step except one percent and kMoments_ns.
inline void expect_steps_of_scopes(const std::vector<ReadRank>& ranks) {
  constexpr double kWithin = 0.01;
  constexpr std::int64_t kMoments_ns = 200'000;  // a busy machine takes the CPU away
  for (const ReadRank& rank : ranks) {
    const auto scopes = united(intervals_of(rank.training(), "scope"));
    for (const Interval& step : intervals_of(rank.training(), "step")) {
      const std::int64_t inside = length(common({step}, scopes)), whole = length({step});
      EXPECT_LE(static_cast<double>(whole - inside),
                kWithin * static_cast<double>(whole) + static_cast<double>(kMoments_ns))
          << "rank " << rank.entry.at("rank");
    }
  }
}

/// In a run on several ranks with all steps traced, the exchange time must match the telemetry: the
/// time of steps that no other subsystem took. The trace must contain most of all bytes sent, as
/// most of the run is training.
inline void expect_same_exchange(const ReadRank& rank, const RankReport& told) {
  constexpr double kWithin = 0.01, kMoments_s = 2e-4;
  constexpr double kMostOfIt = 0.6;
  constexpr double kMost = 0.75;
  const std::string where = "rank " + rank.entry.at("rank").dump();
  const auto told_s = [&](Subsystem part) {
    return told.subsystems_s[static_cast<std::size_t>(part)];
  };
  const double steps_s = rank.entry.at("steps_s"), exchange_s = rank.own_s("exchange");
  EXPECT_NEAR(rank.entry.at("exchange_s"), exchange_s, 1e-6) << where;
  EXPECT_GT(exchange_s, 0.0) << where;
  const double rest_s = steps_s - told_s(Subsystem::kInput) - told_s(Subsystem::kForward) -
                        told_s(Subsystem::kBackward) - told_s(Subsystem::kOptimizer);
  // A busy machine takes the CPU away between scopes, which telemetry counts as other.
  EXPECT_GE(exchange_s, rest_s - told_s(Subsystem::kOther) - kWithin * steps_s - kMoments_s)
      << where;
  EXPECT_GE(exchange_s, kMostOfIt * rest_s - kMoments_s) << where;
  const auto sent =
      static_cast<double>(told.counters[static_cast<std::size_t>(Counter::kBytesSent)]);
  std::int64_t traced = 0;
  for (const ReadEvent& transfer : rank.transfers()) traced += transfer.amount;
  EXPECT_EQ(rank.entry.at("all_transfers").at("bytes"), traced) << where;
  EXPECT_LE(static_cast<double>(traced), sent) << where;
  EXPECT_GT(static_cast<double>(traced), kMost * sent) << where;
}

/// If all steps of a run were traced, trace and telemetry must have the same times.
inline void expect_same_account(const std::vector<ReadRank>& ranks, const Report& report) {
  constexpr double kWithin = 0.01, kMoment_s = 1e-4;
  ASSERT_EQ(ranks.size(), report.ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const Subsystem part :
         {Subsystem::kForward, Subsystem::kBackward, Subsystem::kOptimizer}) {
      const double told_s = report.ranks[i].subsystems_s[static_cast<std::size_t>(part)];
      EXPECT_NEAR(ranks[i].own_s(to_string(part)), told_s, kWithin * told_s + kMoment_s)
          << "rank " << i << ": " << to_string(part);
    }
    // Telemetry also contains the exchange between steps, where ranks wait for each other.
    EXPECT_LE(
        ranks[i].own_s("exchange"),
        report.ranks[i].subsystems_s[static_cast<std::size_t>(Subsystem::kExchange)] + kMoment_s);
    if (ranks.size() > 1) expect_same_exchange(ranks[i], report.ranks[i]);
    EXPECT_NEAR(ranks[i].entry.at("steps_s").get<double>(),
                report.ranks[i].step_s.mean * static_cast<double>(report.ranks[i].step_s.count),
                1e-6);
  }
}

}  // namespace telemetry
