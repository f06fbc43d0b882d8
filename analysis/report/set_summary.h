// The summary of a run set: its score or its throughput by the rules, its spread, and what failed.
// Hides which logs count, and the words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace analysis::report {

/// As JSON, and for people.
struct SetSummary {
  nlohmann::json document;
  std::string text;
};

/// `facts` are those of the runner's set_facts(): folder, command, the round whose rules judge and
/// score (null: the logs decide), and what is known of each member. The document is these facts
/// with what the members' logs say: of each member time_to_train_s, epochs, quality, complies; and
/// "score", "throughput", "spread", "pruned", "missing", "failures", "text" (see docs/sets.md).
/// Never throws for what the logs hold.
SetSummary summarize_set(const nlohmann::json& facts);

}  // namespace analysis::report
