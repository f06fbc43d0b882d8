// Going on from a checkpoint: which one, and whether this run is the one that was saved.
// Hides damaged files that are passed over, and the comparison.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/checkpoint_record.h"
#include "runner/checkpointer.h"

namespace runner {

struct ResumePoint {
  std::string path;
  CheckpointRecord record;
  std::unique_ptr<base::StateSource> arrays;
};

/// Collective. The newest valid checkpoint that `path` means (see resume_candidates); of damaged
/// ones the console tells. Throws AgreedError when none is valid.
ResumePoint open_resume_point(const std::string& path, const CheckpointFormat& format,
                              const Communicator& world, Console& console);

/// Throws AgreedError naming the first key of `config` (resolved, with the seed) whose change would
/// change the mathematics. Call it on every rank.
void require_same_config(const ResumePoint& point, const nlohmann::json& config,
                         const std::vector<std::string>& workload_keys_without_effect);
/// The same for the data, after Workload::open_data().
void require_same_data(const ResumePoint& point, const WorkloadInfo& info);

/// "ranks: 2 then, 3 now" for each fact that decides the last bits and differs.
std::vector<std::string> environment_differences(const nlohmann::json& then,
                                                 const nlohmann::json& now);

}  // namespace runner
