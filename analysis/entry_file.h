// What a submission to MLPerf Training 0.5 says of its system: entry.json, beside the folders of
// its benchmarks. Hides its form.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "analysis/systems.h"

namespace analysis {

/// v0.5.0/ORG/.../results/ENTRY/entry.json for the folder ENTRY/BENCHMARK; empty elsewhere.
std::filesystem::path entry_file_of(const std::filesystem::path& folder);

/// What `entry`, the object in that file, tells. Accelerators only of a single node: of several,
/// some submitters count a node's, others all of them.
DescribedSystem read_entry(const nlohmann::json& entry, const std::filesystem::path& path);

}  // namespace analysis
