// Summary of a set of runs: score or throughput by the rules, spread, and failures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace analysis::report {

struct SetSummary {
  nlohmann::json document;
  std::string text;  ///< for people
};

/// `facts` come from the runner's set_facts(): folder, command, the round whose rules judge and
/// score (null: chosen from the logs), and the state of each member. The document adds to these
/// facts, from the members' logs: time_to_train_s, epochs, quality, complies and ruleset of each
/// member; and "benchmark", "score", "throughput", "spread", "pruned", "pruning", "missing",
/// "failures", "text" (see docs/sets.md). Never throws for the content of logs.
SetSummary summarize_set(const nlohmann::json& facts);

}  // namespace analysis::report
