// Saves a run while it goes on: when, under which name, and what goes when a new one is complete.
// Hides the order of these steps; the file format is given by main.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
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

/// What a file of a checkpoint holds.
struct CheckpointContent {
  std::string about;  ///< the text that it was written with
  std::unique_ptr<base::StateSource> arrays;
};

/// The file format, given by main, so that the runner knows none. Both calls are collective and
/// throw AgreedErrors that name the file.
struct CheckpointFormat {
  /// The file appears at `path` whole and safe on the device, or not at all.
  std::function<void(const Communicator& world, const std::string& path, const std::string& about,
                     const std::vector<base::StateArray>& arrays)>
      write;
  /// Checks all of the file's content first.
  std::function<CheckpointContent(const Communicator& world, const std::string& path)> open;
  /// The text alone, after a check of the header; not collective. Throws DataError.
  std::function<std::string(const std::string& path)> read_about;
};

/// What surrounds a Checkpointer; all outlive it.
struct CheckpointDoors {
  const Communicator& world;
  const base::Clock& clock;
  Console& console;
  const CheckpointFormat& format;
  /// Asked on every rank, one yes is enough; a yes is forgotten when it was given (SIGUSR1).
  std::function<bool()> requested;
  FolderOwner owner = {};  ///< how other runs see this one
};

class Checkpointer {
 public:
  /// `folder` appears with the first checkpoint. `run_config` and `environment`: see
  /// CheckpointRecord.
  Checkpointer(const CheckpointConfig& config, std::string folder, nlohmann::json run_config,
               nlohmann::json environment, const CheckpointDoors& doors);

  /// Collective. Takes the folder for this run, with the first save() at the latest; `lock`: on
  /// rank 0 it is ours already. Throws AgreedError where a live run has it.
  void take_folder(std::unique_ptr<FolderLock> lock = nullptr);
  /// Not collective. The run came to its end by itself: see kFinishedFile.
  void note_finished() const;
  /// Whether this rank asks for a checkpoint now: not collective, and ranks may differ.
  bool wanted_here();
  /// Steps from `steps_done` to the next checkpoint by steps.
  std::int64_t steps_until_due(std::int64_t steps_done) const;
  bool is_due(std::int64_t steps_done) const;
  /// Collective. Throws AgreedError; checkpoints before this one then stay as they are.
  void save(const RunPosition& position, Workload& workload);

 private:
  std::string next_path(std::int64_t steps_done);
  void lock_folder();
  const CheckpointConfig config_;
  const std::string folder_;
  const nlohmann::json run_config_, environment_;
  const CheckpointDoors& doors_;
  std::int64_t last_ns_;
  std::unique_ptr<FolderLock> lock_;  ///< on rank 0
};

/// What a resumed run must have in common with the one that was saved.
nlohmann::json data_facts(const WorkloadInfo& info);

}  // namespace runner
