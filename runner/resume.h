// Going on from a checkpoint: which one, and whether this run is the one that was saved.
// Hides damaged files that are passed over, and the comparison.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/checkpoint_record.h"
#include "runner/checkpointer.h"
#include "runner/folder_lock.h"

namespace runner {

/// What to do where no checkpoint is to go on from.
enum class NothingSaved { kRefuse, kBegin };

struct ResumeWish {
  std::string path;  ///< a checkpoint, a folder of them, or one with folders of runs
  NothingSaved nothing_saved = NothingSaved::kRefuse;
  nlohmann::json config;                         ///< resolved; a seed of 0 means any
  std::vector<std::string> keys_without_effect;  ///< Workload's
  FolderOwner owner;                             ///< this run
};

struct ResumeChoice {
  std::vector<std::string> candidates;  ///< best first; none: a run begins
  /// On rank 0, of the folder that the run goes on saving to; null after a file, which was chosen
  /// by hand: what lies beside it is not for the run to clear away.
  std::unique_ptr<FolderLock> lock;
};

/// Collective. The checkpoints of the run that was saved last, of this configuration, and that no
/// live run owns; of others the console tells why they are passed over. Throws AgreedError where
/// there is none, unless the wish is to begin.
ResumeChoice choose_checkpoints(const ResumeWish& wish, const CheckpointFormat& format,
                                const Communicator& world, Console& console);

struct ResumePoint {
  std::string path;
  CheckpointRecord record;
  std::unique_ptr<base::StateSource> arrays;
};

/// Collective. The first valid one of the candidates; of damaged ones the console tells. Throws
/// AgreedError when none is valid.
ResumePoint open_resume_point(const std::vector<std::string>& candidates,
                              const CheckpointFormat& format, const Communicator& world,
                              Console& console);

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
