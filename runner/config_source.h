// Where a command's configuration comes from: a file and --set overrides.
// Hides the options and the order of checks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// The options CONFIG and --set of a command, and what they mean after parsing.
struct ConfigSource {
  std::string path;
  std::vector<std::string> overrides;
  std::vector<std::string> forced;  ///< overrides that the command itself makes, after all others
  std::optional<RunConfig> config;
  const WorkloadEntry* entry = nullptr;
};

enum class Presence { kRequired, kOptional };

/// Declares the options. While the command line is parsed, and so before any MPI, the file is read
/// and every key of it is checked: ConfigError leaves the parser, also that of `check`, which may
/// look at further options. `workloads` must outlive `app`. An optional file that is not
/// given leaves `path` empty; --set needs one.
std::shared_ptr<ConfigSource> declare_config(
    CLI::App& app, const std::vector<WorkloadEntry>& workloads,
    const std::function<void(const WorkloadEntry& entry)>& check = {},
    Presence presence = Presence::kRequired);

/// Names of the workloads that `take` something: "dlrm, resnet50".
std::string names_of(const std::vector<WorkloadEntry>& workloads,
                     const std::function<bool(const WorkloadEntry& entry)>& take);

/// Before the help of an option that only the workloads of these names have: "dlrm: ".
inline std::string for_whom(const std::string& names) { return names.empty() ? "" : names + ": "; }

/// The entry of that name; throws ConfigError with the nearest name, `where` saying who asks.
const WorkloadEntry& find_workload(const std::vector<WorkloadEntry>& workloads,
                                   const std::string& name, const std::string& where);

}  // namespace runner
