// One power log: what was measured at a node, or estimated for a switch.
// Hides the records, their order, and what stands in for those that are missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <vector>

#include "runner/mllog/finding.h"

namespace analysis::submission {

/// Who the log is of: node_<number>.txt holds readings, sw_<number>.txt one estimate.
enum class PowerSource { kNode, kSwitch };

/// What a power log says. Definitions and units stand in energy_definitions(); a figure is absent
/// where the log cannot give it, and a finding then tells why.
struct PowerLog {
  PowerSource source = PowerSource::kNode;
  std::int64_t samples = 0;  ///< readings that count
  std::optional<double> power_w, energy_j, measured_s, sampling_interval_s, conversion_efficiency;
  std::vector<mllog::Finding> findings;
};

/// Reads it in one pass, by the formula of MLCommons' result summarizer. Memory grows with its
/// records, not with its bytes. Never throws for what it holds: what is damaged is a finding. The
/// other call never throws for a file that cannot be read either.
PowerLog read_power_log(std::istream& in, PowerSource source);
PowerLog read_power_log(const std::filesystem::path& path, PowerSource source);

}  // namespace analysis::submission
