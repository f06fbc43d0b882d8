// The published result logs that collect.py collects, and what an independent program found in
// them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace published {

/// Why a test is skipped where folder() is empty.
inline constexpr char kAbsent[] =
    "needs the published logs: tests/published_logs/collect.py collects them in "
    "build/published_logs";

/// Members "files" and "systems": figures by the path below folder(). "side_files": further files.
inline const nlohmann::json& expected() {
  static const nlohmann::json figures = [] {
    std::ifstream in("tests/published_logs/expected.json");
    return nlohmann::json::parse(in);
  }();
  return figures;
}

/// The folder that holds all of the logs, or an empty path. A test runs in the project's folder.
inline std::filesystem::path folder() {
  for (const std::filesystem::path place : {"build/published_logs", "../shared/mlperf_logs"}) {
    const auto holds = [&place](const std::string& file) {
      return std::filesystem::exists(place / file);
    };
    const auto logs = expected()["files"].items();
    const auto& side_files = expected()["side_files"];
    if (std::all_of(logs.begin(), logs.end(), [&](const auto& log) { return holds(log.key()); }) &&
        std::all_of(side_files.begin(), side_files.end(), holds)) {
      return place;
    }
  }
  return {};
}

}  // namespace published
