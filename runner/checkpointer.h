// Saves checkpoints during a run: when, under which name, and which old ones to remove. main
// supplies the file format.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/state.h"
#include "runner/checkpoint_record.h"
#include "runner/console.h"
#include "runner/folder_lock.h"
#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// The content of a checkpoint file.
struct CheckpointContent {
  std::string about;  ///< the text that write() was given
  std::unique_ptr<base::StateSource> arrays;
};

/// The file format; main supplies it, so that the runner depends on none. Both collective calls
/// throw AgreedErrors that name the file.
struct CheckpointFormat {
  /// The file appears at `path` complete and synced to the device, or not at all.
  std::function<void(const Communicator& world, const std::string& path, const std::string& about,
                     const std::vector<base::StateArray>& arrays)>
      write;
  /// Checks the whole content of the file first.
  std::function<CheckpointContent(const Communicator& world, const std::string& path)> open;
  /// Returns the text alone, after a check of the header; not collective. Throws DataError.
  std::function<std::string(const std::string& path)> read_about;
};

/// The dependencies of a Checkpointer; all outlive it.
struct CheckpointDoors {
  const Communicator& world;
  const base::Clock& clock;
  Console& console;
  const CheckpointFormat& format;
  /// Asked on every rank; one yes is enough. Each request (SIGUSR1) is reported once.
  std::function<bool()> requested;
  FolderOwner owner = {};  ///< how other runs see this one
};

class Checkpointer {
 public:
  /// `folder` is created by the first checkpoint. `run_config` and `environment`: see
  /// CheckpointRecord.
  Checkpointer(const CheckpointConfig& config, std::string folder, nlohmann::json run_config,
               nlohmann::json environment, const CheckpointDoors& doors);

  /// Collective. Locks the folder for this run; otherwise the first save() does. `lock`: on rank 0,
  /// a lock that this run already holds. Throws AgreedError if a live run has locked it.
  void take_folder(std::unique_ptr<FolderLock> lock = nullptr);
  /// Not collective. Tells that this checkpoint, which was read, is undamaged.
  void note_whole(const std::string& path);
  /// Not collective. Records that the run ended by itself: see kFinishedFile.
  void note_finished() const;
  /// Whether this rank asks for a checkpoint now. Not collective; ranks may differ.
  bool wanted_here();
  /// Steps from `steps_done` to the next checkpoint that `every_steps` asks for.
  std::int64_t steps_until_due(std::int64_t steps_done) const;
  bool is_due(std::int64_t steps_done) const;
  /// Collective. Throws AgreedError; earlier checkpoints are then unchanged.
  void save(const RunPosition& position, Workload& workload);

 private:
  std::string next_path(std::int64_t steps_done);
  void prune() const;
  void lock_folder();
  const CheckpointConfig config_;
  const std::string folder_;
  const nlohmann::json run_config_, environment_;
  const CheckpointDoors& doors_;
  std::int64_t last_ns_;
  std::unique_ptr<FolderLock> lock_;  ///< on rank 0
  std::set<std::string> whole_;       ///< names of checkpoints that this run wrote or read
};

/// Facts about the data that must be the same in a resumed run as in the saved one.
nlohmann::json data_facts(const WorkloadInfo& info);

}  // namespace runner
