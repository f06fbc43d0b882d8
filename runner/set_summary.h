// The summary of a run set: set_summary.json beside its results, and the same as text.
// Hides which facts of the set a summary is made of, and that several processes write it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/set_file.h"
#include "runner/set_members.h"

namespace runner {

/// A summary in its two forms.
struct SetSummary {
  nlohmann::json document;
  std::string text;
};

/// Scores a set: given by main, since the rules of scoring are the analysis's. Gets the facts that
/// set_facts() gives, and returns them with what the logs say.
using SummarizeSet = std::function<SetSummary(const nlohmann::json& facts)>;

/// How this process was told to run the set.
struct SetInvocation {
  std::string command;  ///< that continues it, for people
  std::string round;    ///< whose rules score it, such as "training-4.0"; "": the logs decide
};

/// Folder, seeds, and the state of each member, as {"schema", "kind", "mode", "folder", "runs",
/// "master_seed", "ranks", "started" (all together), "command", "round", "members": [{"member",
/// "seed", "state", "status", "reason", "attempts", "result", "log", "host", "process", "job",
/// "started_ms"}]}; null where there is nothing to tell.
nlohmann::json set_facts(const std::string& folder, const SetDefinition& set,
                         const std::vector<Member>& members, const SetInvocation& invocation);

std::string summary_path(const std::string& folder);

/// set_summary.json of one set.
class SummaryFile {
 public:
  /// All of them outlive this.
  SummaryFile(std::string folder, const SetDefinition& set, SetMembers& members,
              SetInvocation invocation, const SummarizeSet& summarize);

  /// Writes it as a whole where anything changed, again until it says what the members' files say:
  /// of several processes that write at the same time, the last one is right. Throws SystemError.
  const SetSummary& update();

 private:
  nlohmann::json facts() const;
  std::string folder_;
  const SetDefinition& set_;
  SetMembers& members_;
  SetInvocation invocation_;
  const SummarizeSet& summarize_;
  nlohmann::json told_;  ///< the facts that the summary was made of
  SetSummary summary_;
};

}  // namespace runner
