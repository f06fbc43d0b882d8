// Arbitrary bytes as the power log of a node and of a switch: energy and power that agree, or a
// finding that says why there is none; never an exception or a crash.
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "analysis/submission/power_log.h"
#include "tests/fuzz/memory_file.h"

namespace {

using analysis::submission::PowerLog;
using analysis::submission::PowerSource;

void check(const PowerLog& log, PowerSource source) {
  fuzz::require(log.source == source && log.samples >= 0);
  for (const auto& figure : {log.power_w, log.energy_j, log.measured_s, log.sampling_interval_s,
                             log.conversion_efficiency}) {
    fuzz::require(!figure || (std::isfinite(*figure) && *figure >= 0.0));
  }
  fuzz::require(log.power_w || !log.findings.empty());
  for (const auto& finding : log.findings) {
    fuzz::require(!finding.rule.empty() && !finding.text.empty() && finding.line >= 0);
  }
  if (source == PowerSource::kSwitch) {
    fuzz::require(!log.energy_j && !log.measured_s);
    return;
  }
  fuzz::require(log.power_w.has_value() == log.energy_j.has_value());
  if (!log.measured_s) return;
  fuzz::require(*log.measured_s > 0.0 && log.samples > 0 && *log.sampling_interval_s > 0.0);
  fuzz::require(*log.sampling_interval_s <= *log.measured_s);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const PowerSource source : {PowerSource::kNode, PowerSource::kSwitch}) {
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    check(analysis::submission::read_power_log(in, source), source);
  }
  return 0;
}
