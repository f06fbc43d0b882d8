// One power log: the power measured at a node, or estimated for a switch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <vector>

#include "runner/mllog/finding.h"

namespace analysis::submission {

/// The device of a log: node_<number>.txt holds readings, sw_<number>.txt one estimate.
enum class PowerSource { kNode, kSwitch };

/// The figures of a power log; energy_definitions() has definitions and units. A figure that the
/// log cannot give is absent, and a finding says why.
struct PowerLog {
  PowerSource source = PowerSource::kNode;
  std::int64_t samples = 0;  ///< readings from start to stop
  std::optional<double> power_w, energy_j, measured_s, sampling_interval_s, conversion_efficiency;
  std::vector<mllog::Finding> findings;
};

/// Reads a log in one pass, by the formula of MLCommons' result summarizer. Memory grows with the
/// number of records, not of bytes. Never throws for the contents: damage becomes a finding, and so
/// does, for the overload with a path, a file that cannot be read.
PowerLog read_power_log(std::istream& in, PowerSource source);
PowerLog read_power_log(const std::filesystem::path& path, PowerSource source);

}  // namespace analysis::submission
