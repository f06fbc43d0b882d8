// The folder of a training's checkpoints: file names, the newest checkpoint, which to remove.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace runner {

/// A complete file checkpoint_<number>_step_<steps>.h5. `number` counts the files written to this
/// folder; `steps` decreases after a resume from an earlier checkpoint.
struct CheckpointFile {
  std::string path;
  std::int64_t number = 0, steps = 0;
};

/// "<folder>/checkpoint_0007_step_1200.h5"
std::string checkpoint_path(const std::string& folder, std::int64_t number, std::int64_t steps);

/// Sorted by number; empty if there is no such folder. Unfinished files (.part) do not count.
/// Throws SystemError.
std::vector<CheckpointFile> list_checkpoints(const std::string& folder);

/// "<root>/result_<number>.checkpoints": the folder of run `result_number`.
std::string folder_of_run(const std::string& root, std::int64_t result_number);

/// Marks the folder of a run that ended by itself: a restarted job has nothing left to do.
inline constexpr char kFinishedFile[] = "finished";

/// The folders of runs below `root` that have checkpoints, the most recently written first.
std::vector<std::string> saved_runs(const std::string& root);

/// What --resume PATH may mean, best first. A file: itself. A folder of checkpoints: all of them,
/// newest first. A folder with folders of runs: the checkpoints of the last run that has any.
/// Throws DataError if there is none.
std::vector<std::string> resume_candidates(const std::string& path);

/// Removes unfinished files, and the checkpoints that are older than the last `keep_last` of those
/// that `is_whole` (of a file's name) knows to be undamaged. Returns an error message or "": a
/// leftover checkpoint is no reason to end a run.
std::string prune_checkpoints(const std::string& folder, std::int64_t keep_last,
                              const std::function<bool(const std::string& name)>& is_whole);

/// The number of the next checkpoint in the folder. Throws DataError if there is none after the
/// last.
std::int64_t next_checkpoint_number(const std::string& folder);

}  // namespace runner
