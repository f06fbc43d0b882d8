// Connects all components into one program.
#include "runner/wiring.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/audit/planned_log.h"
#include "analysis/command/commands.h"
#include "analysis/report/set_summary.h"
#include "runner/base/system_facts.h"
#include "runner/program.h"

#ifdef TRAINMARK_RUNNER
#include <hdf5.h>

#include "runner/commands.h"
#include "runner/doctor/command.h"
#include "runner/on_ranks.h"
#include "runner/scale/command.h"
#include "staging/checkpoint_file.h"
#include "staging/h5.h"
#include "staging/staged_folder.h"
#include "workloads/nn/version.h"
#endif

namespace {

using nlohmann::json;

#ifdef TRAINMARK_RUNNER

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

json libraries() {
  return {{"oneDNN", nn::library_version()},
          {"MPI", runner::mpi_library_version()},
          {"HDF5", hdf5_version()}};
}

std::vector<staging::StagedFolder> staged_folders(const std::string& folder,
                                                  runner::StagedCopies what) {
  switch (what) {
    case runner::StagedCopies::kVerify:
      return staging::verify_staged(folder);
    case runner::StagedCopies::kRemoveUnused:
      return staging::remove_all_unused(folder);
    default:
      return staging::list_staged(folder);
  }
}

json staged_copies(const std::string& folder, runner::StagedCopies what) {
  json copies = json::array();
  for (const staging::StagedFolder& copy : staged_folders(folder, what)) {
    copies.push_back(staging::to_json(copy));
  }
  return copies;
}

void add_runner(std::vector<runner::WorkloadEntry> workloads,
                std::vector<runner::MachineBench> machine_benches, runner::Program& program) {
  runner::CommandParts parts;
  parts.workloads = std::move(workloads);
  parts.machine_benches = std::move(machine_benches);
  parts.make_state_writer = [](const std::string& path) {
    return std::make_unique<staging::H5StateWriter>(path);
  };
  parts.make_state_reader = [](const std::string& path) {
    return std::make_unique<staging::H5StateReader>(path);
  };
  parts.make_output_sink = [](const std::string& path) {
    return std::make_unique<staging::H5OutputSink>(path);
  };
  parts.checkpoint_format = staging::checkpoint_format();
  parts.libraries = libraries;
  parts.staged_copies = staged_copies;
  parts.summarize_set = [](const json& facts) {
    analysis::report::SetSummary summary = analysis::report::summarize_set(facts);
    return runner::SetSummary{std::move(summary.document), std::move(summary.text)};
  };
  parts.audit_plan = analysis::audit_planned_log;
  base::Command doctor = doctor::command(parts), scale = scale::command(parts);
  program.commands = runner::commands(std::move(parts));
  program.commands.push_back(std::move(scale));
  program.commands.push_back(std::move(doctor));
  program.run_on_ranks = runner::run_on_ranks;
}

#else

json libraries() { return json::object(); }

void add_runner(runner::Program& program) {
  program.missing_commands = {"run",    "evaluate", "generate", "bench", "config",
                              "system", "doctor",   "script",   "scale", "bleu"};
  program.why_missing = "this build has no runner (configured with TRAINMARK_RUNNER=OFF)";
}

#endif

std::string version() {
  const json build = base::build_facts();
  const auto text = [&build](const char* key) { return build.value(key, "unknown"); };
  std::string lines = "trainmark " + text("version") + " (" + text("revision") + ")\n";
  lines += "built on: " + text("system") + ", for " + text("target") + "\n";
  lines += "built with: " + text("built_with") + "\n";
  lines +=
      "compiler: " + text("compiler") + ", " + text("build_type") + ", " + text("flags") + "\n";
  lines += "instruction set: " + base::to_string(base::usable_instruction_set()) + "\n";
  const json numbers = libraries();
  for (const auto& [name, number] : numbers.items()) {
    lines += name + ": " + number.get<std::string>() + "\n";
  }
  lines.pop_back();
  return lines;
}

int run(int argc, char** argv, runner::Program& program) {
  for (base::Command& command : analysis::command::commands()) {
    program.commands.push_back(std::move(command));
  }
  program.version = version;
  return runner::run_program(argc, argv, program);
}

}  // namespace

#ifdef TRAINMARK_RUNNER

int run_trainmark(int argc, char** argv, std::vector<runner::WorkloadEntry> workloads,
                  std::vector<runner::MachineBench> machine_benches,
                  const std::vector<base::Command>& commands) {
  runner::Program program;
  add_runner(std::move(workloads), std::move(machine_benches), program);
  program.commands.insert(program.commands.end(), commands.begin(), commands.end());
  return run(argc, argv, program);
}

#else

int run_trainmark(int argc, char** argv) {
  runner::Program program;
  add_runner(program);
  return run(argc, argv, program);
}

#endif
