// Where a command's configuration comes from: a file and --set overrides.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/run_config.h"
#include "runner/workload.h"

namespace runner {

/// The command's CONFIG and --set options, and their meaning after parsing.
struct ConfigSource {
  std::string path;
  std::vector<std::string> overrides;
  std::vector<std::string> forced;  ///< overrides by the command itself, applied last
  std::optional<RunConfig> config;
  const WorkloadEntry* entry = nullptr;
};

enum class Presence { kRequired, kOptional };

/// Declares the options. The file is read and all its keys are checked while the command line is
/// parsed, so before MPI starts. The parser throws ConfigError, including those of `check`, which
/// may look at further options. `workloads` must outlive `app`. If an optional file is not given,
/// `path` is empty; --set needs a file.
std::shared_ptr<ConfigSource> declare_config(
    CLI::App& app, const std::vector<WorkloadEntry>& workloads,
    const std::function<void(const WorkloadEntry& entry)>& check = {},
    Presence presence = Presence::kRequired);

/// The configuration of `source` with `more` overrides, applied last. Throws ConfigError.
RunConfig load_config(const ConfigSource& source, const std::vector<WorkloadEntry>& workloads,
                      const std::vector<std::string>& more);

/// Throws ConfigError if an output of a command, pairs of option and value, would replace what the
/// command reads: its configuration, files of /dataset, or one of `more`; or if two outputs are one
/// file. For the `check` of declare_config().
void require_outputs(const ConfigSource& source,
                     const std::vector<std::pair<std::string, std::string>>& outputs,
                     std::vector<std::filesystem::path> more = {});

/// Names of the workloads for which `take` is true: "dlrm, resnet50".
std::string names_of(const std::vector<WorkloadEntry>& workloads,
                     const std::function<bool(const WorkloadEntry& entry)>& take);

/// Prefix for the help of an option that only the workloads `names` have: "dlrm: ".
inline std::string for_whom(const std::string& names) { return names.empty() ? "" : names + ": "; }

/// The entry called `name`. Throws ConfigError with the nearest name; the message begins with
/// `where`, and lists the workloads and `others`, which may stand there, too.
const WorkloadEntry& find_workload(const std::vector<WorkloadEntry>& workloads,
                                   const std::string& name, std::string_view where,
                                   const std::vector<std::string>& others = {});

}  // namespace runner
