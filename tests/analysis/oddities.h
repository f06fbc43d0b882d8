// Helpers for the tests of oddities: sets of synthetic logs, and figures by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/fields.h"
#include "analysis/findings/make_report.h"
#include "analysis/own_log.h"
#include "analysis/system_fields.h"
#include "runner/base/temporary_directory.h"

namespace own_log {

constexpr double kRunS = 33.0;  ///< of a clean log with one epoch for each evaluation

inline void move(json& one, double ms) {
  one["time_ms"] = one["time_ms"].get<std::int64_t>() + static_cast<std::int64_t>(ms);
}

/// The report of the set that `logs` form in a submission; `side` has further files.
inline analysis::SystemReport set_of(const std::vector<Log>& logs,
                                     const std::map<std::string, std::string>& side = {},
                                     const std::string& place = "results/box/cosmoflow/") {
  const base::TemporaryDirectory folder;
  int number = 0;
  for (const Log& log : logs) {
    folder.write(place + "result_" + std::to_string(number++) + ".txt", log.text());
  }
  for (const auto& [name, content] : side) folder.write(name, content);
  return analysis::make_report({folder.path().string()}).systems.at(0);
}

/// A clean log whose run takes `more_s` longer.
inline Log longer(double more_s) {
  Log log = clean();
  move(log["run_stop"], 1000.0 * more_s);
  return log;
}

inline double field(const analysis::SystemFacts& facts, const std::string& name) {
  const auto* const found = analysis::find_field(analysis::system_fields(), name);
  return found ? analysis::number(found->get(facts)).value_or(-1.0) : -2.0;
}

}  // namespace own_log
