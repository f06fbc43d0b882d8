// The commands that train or inspect the machine, and their dependencies.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner/base/command.h"
#include "runner/run_rules.h"
#include "runner/run_set.h"
#include "runner/workload.h"

namespace runner {

enum class StagedCopies { kList, kVerify, kRemoveUnused };

/// Dependencies that layers above the runner supply; wired in main.
struct CommandParts {
  std::vector<WorkloadEntry> workloads;
  std::vector<MachineBench> machine_benches;
  MakeStateWriter make_state_writer;
  CheckpointFormat checkpoint_format;
  std::function<std::unique_ptr<StateReader>(const std::string& path)> make_state_reader;
  std::function<std::unique_ptr<OutputSink>(const std::string& path)> make_output_sink;
  std::function<nlohmann::json()> libraries;  ///< names and versions
  /// The staged copies in a folder of this node: an array with a description of each, what is known
  /// to be damaged, and whether it was removed.
  std::function<nlohmann::json(const std::string& folder, StagedCopies what)> staged_copies;
  SummarizeSet summarize_set;
  AuditPlan audit_plan;  ///< empty: only rule files are applied
};

/// run, evaluate, stage, generate, bench, config, system, script.
std::vector<base::Command> commands(CommandParts parts);

// The tables that commands() joins, one per source file.
std::vector<base::Command> run_commands(const std::shared_ptr<const CommandParts>& parts);
std::vector<base::Command> evaluation_commands(const std::shared_ptr<const CommandParts>& parts);
std::vector<base::Command> staging_commands(const std::shared_ptr<const CommandParts>& parts);
std::vector<base::Command> workload_commands(const std::shared_ptr<const CommandParts>& parts);
std::vector<base::Command> inspection_commands(const std::shared_ptr<const CommandParts>& parts);
std::vector<base::Command> system_commands(const std::shared_ptr<const CommandParts>& parts);
std::vector<base::Command> script_commands(const std::shared_ptr<const CommandParts>& parts);

}  // namespace runner
