// Several runs of one configuration, each with its own seed, workload and files.
// Hides the files of a run and what people are told.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "runner/console.h"
#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// A new file of named arrays that appears at `path` with finish(); given by main, so that the
/// runner knows no file format.
using MakeStateWriter = std::function<std::unique_ptr<StateWriter>(const std::string& path)>;

/// What surrounds a run set; all outlive it.
struct RunSetDoors {
  const Communicator& world;
  const Topology& topology;
  const base::Clock& clock;
  Console& console;
  std::ostream& out;  ///< the RESULT lines and the files' paths
  std::function<bool()> stop_requested;
  MakeStateWriter make_state_writer;
  nlohmann::json libraries;  ///< names and versions, for the provenance of the figures
};

/// Collective. `runs` runs; with one, its seed is the configuration's, else seeds derive from it. A
/// seed of 0 is replaced by one of the operating system's. Returns kSuccess if each reached its
/// target, kStopped if a signal ended the set (what is finished stays), else kTargetMissed.
base::ExitCode run_set(const RunConfig& config, std::int64_t runs, MakeWorkload make,
                       const RunSetDoors& doors);

}  // namespace runner
