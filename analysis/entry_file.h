// Reads entry.json, in which a submission to MLPerf Training 0.5 describes its system. The file is
// next to the folders of its benchmarks.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "analysis/systems.h"

namespace analysis {

/// v0.5.0/ORG/.../results/ENTRY/entry.json for the folder ENTRY/BENCHMARK; empty if there is none.
std::filesystem::path entry_file_of(const std::filesystem::path& folder);

/// The system that `entry`, the object in that file, describes. With several nodes that have
/// accelerators, both counts are absent: some submitters count one node's accelerators, others all.
DescribedSystem read_entry(const nlohmann::json& entry, const std::filesystem::path& path);

}  // namespace analysis
