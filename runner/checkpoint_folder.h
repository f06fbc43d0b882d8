// The checkpoints of a training in their folder: names, the newest, which may go.
// Hides directory scans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace runner {

/// A complete file checkpoint_<number>_step_<steps>.h5. Numbers count what was written here; steps
/// fall where somebody resumed from an earlier one.
struct CheckpointFile {
  std::string path;
  std::int64_t number = 0, steps = 0;
};

/// "<folder>/checkpoint_0007_step_1200.h5"
std::string checkpoint_path(const std::string& folder, std::int64_t number, std::int64_t steps);

/// By number; none where the folder is not there. Unfinished files (.part) do not count. Throws
/// SystemError.
std::vector<CheckpointFile> list_checkpoints(const std::string& folder);

/// "<root>/result_<number>.checkpoints": the folder of that run.
std::string folder_of_run(const std::string& root, std::int64_t result_number);

/// In a folder whose run came to its end by itself: there is nothing left to do for a job that is
/// started again.
inline constexpr char kFinishedFile[] = "finished";

/// The folders of runs below `root` that have checkpoints, that which was written last first.
std::vector<std::string> saved_runs(const std::string& root);

/// What --resume PATH may mean, best first. A file: itself. A folder of checkpoints: all of it,
/// newest first. A folder that has folders of runs: those of the last run that has any. Throws
/// DataError when there is none.
std::vector<std::string> resume_candidates(const std::string& path);

/// Removes unfinished files and all checkpoints but the last `keep_last`. Returns what went wrong,
/// "" when nothing did: an old checkpoint too many is no reason to end a run.
std::string prune_checkpoints(const std::string& folder, std::int64_t keep_last);

}  // namespace runner
