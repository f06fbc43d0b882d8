// Resuming from a checkpoint: which one, and whether it belongs to this run's configuration.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/checkpoint_record.h"
#include "runner/checkpointer.h"
#include "runner/folder_lock.h"

namespace runner {

/// What to do if there is no checkpoint to resume from.
enum class NothingSaved { kRefuse, kBegin };

struct ResumeWish {
  std::string path;  ///< a checkpoint, a folder of them, or one with folders of runs
  NothingSaved nothing_saved = NothingSaved::kRefuse;
  nlohmann::json config;                         ///< resolved; a seed of 0 matches any seed
  std::vector<std::string> keys_without_effect;  ///< Workload::keys_without_effect()
  FolderOwner owner;                             ///< this run
  bool only_looks = false;                       ///< takes no lock: ResumeChoice::lock stays null
};

struct ResumeChoice {
  std::vector<std::string> candidates;  ///< best first; empty: start from scratch
  /// On rank 0, the lock of the folder that the run continues to save to. Null if the user chose a
  /// single file: the run must not remove its neighbours.
  std::unique_ptr<FolderLock> lock;
};

/// Collective. The checkpoints of the most recently saved run of this configuration that no live
/// run owns. The console tells why others are skipped. If there is none, throws AgreedError unless
/// `wish` permits starting from scratch.
ResumeChoice choose_checkpoints(const ResumeWish& wish, const CheckpointFormat& format,
                                const Communicator& world, Console& console);

/// Not collective. The same on one rank; throws the same as base::Error. `passed_over` receives why
/// other runs were skipped.
ResumeChoice find_checkpoints(const ResumeWish& wish, const CheckpointFormat& format,
                              std::vector<std::string>& passed_over);

struct ResumePoint {
  std::string path;
  CheckpointRecord record;
  std::unique_ptr<base::StateSource> arrays;
};

/// Collective. Opens the first valid candidate and reports damaged ones on the console. Throws
/// AgreedError if none is valid.
ResumePoint open_resume_point(const std::vector<std::string>& candidates,
                              const CheckpointFormat& format, const Communicator& world,
                              Console& console);

/// Throws AgreedError for the first key of `config` (resolved, with the seed) that differs and
/// affects the mathematics. Call it on every rank.
void require_same_config(const ResumePoint& point, const nlohmann::json& config,
                         const std::vector<std::string>& workload_keys_without_effect);
/// The same check for the data, after Workload::open_data().
void require_same_data(const ResumePoint& point, const WorkloadInfo& info);

/// "ranks: 2 then, 3 now" for each fact that affects the last bits of results and differs.
std::vector<std::string> environment_differences(const nlohmann::json& then,
                                                 const nlohmann::json& now);

}  // namespace runner
