// The summary of a run set: set_summary.json next to its results, and as text. Several processes
// may write it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/set_file.h"
#include "runner/set_members.h"

namespace runner {

/// A summary in both forms.
struct SetSummary {
  nlohmann::json document;
  std::string text;
};

/// Scores a set. Supplied by main, as the scoring rules belong to the analysis. Receives
/// set_facts() and returns them with results from the logs.
using SummarizeSet = std::function<SetSummary(const nlohmann::json& facts)>;

/// How this process was told to run the set.
struct SetInvocation {
  std::string command;  ///< continues the set, for people
  std::string round;    ///< the round whose rules score the set, such as "training-4.0"; "": the
                        ///< logs decide
};

/// Folder, seeds, and the state of each member, as {"schema", "kind", "mode", "folder", "runs",
/// "master_seed", "ranks", "started" (common start), "command", "round", "members": [{"member",
/// "seed", "state", "status", "reason", "exit_code", "attempts", "result", "log", "host",
/// "process", "job", "started_ms"}]}; unknown values are null.
nlohmann::json set_facts(const std::string& folder, const SetDefinition& set,
                         const std::vector<Member>& members, const SetInvocation& invocation);

std::string summary_path(const std::string& folder);

/// set_summary.json of one set.
class SummaryFile {
 public:
  /// All arguments outlive this object.
  SummaryFile(std::string folder, const SetDefinition& set, SetMembers& members,
              SetInvocation invocation, const SummarizeSet& summarize);

  /// Writes the whole file if anything changed, and repeats until it matches the members' files: if
  /// several processes write at the same time, the last writer is right. Throws SystemError.
  const SetSummary& update();

 private:
  nlohmann::json facts() const;
  std::string folder_;
  const SetDefinition& set_;
  SetMembers& members_;
  SetInvocation invocation_;
  const SummarizeSet& summarize_;
  nlohmann::json summarized_;  ///< the facts that the summary was computed from
  SetSummary summary_;
};

}  // namespace runner
