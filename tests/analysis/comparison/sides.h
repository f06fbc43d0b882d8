// Synthetic sides of comparisons.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "analysis/comparison/run_comparison.h"
#include "analysis/findings/system_facts_of.h"

namespace made {

/// Seconds of a run that succeeded; the rest of ttt_s is outside of all intervals.
struct Run {
  double ttt_s = 100.0, staging_s = 10.0, eval_s = 20.0, train_s = 60.0, epochs = 5.0;
};

inline analysis::RunFacts facts(const Run& run) {
  analysis::RunFacts facts;
  facts.outcome = analysis::Outcome::kSuccess;
  facts.ttt_s = run.ttt_s;
  facts.parts.staging_s = facts.parts.staging_in_run_s = run.staging_s;
  facts.parts.eval_s = run.eval_s;
  facts.parts.train_s = run.train_s;
  facts.parts.epoch_s = run.train_s;
  facts.progress.epochs_run = run.epochs;
  return facts;
}

/// A side and all that it points to.
class Side {
 public:
  explicit Side(const std::vector<Run>& runs, std::string name = "side") {
    side_.name = std::move(name);
    side_.system = &system;
    for (const Run& run : runs) add(facts(run));
    rate();
  }
  analysis::RunFacts& add(analysis::RunFacts run) {
    facts_.push_back(std::move(run));
    side_.runs.push_back(
        {"result_" + std::to_string(facts_.size()) + ".txt", &facts_.back(), nullptr, nullptr, {}});
    return facts_.back();
  }
  /// Computes the figures of the set that comparisons read.
  void rate() {
    std::vector<analysis::SetMember> members;
    for (const auto& run : side_.runs) members.push_back({run.file_name, run.facts});
    std::vector<analysis::Finding> findings;
    const auto description = system.description;
    const auto units = system.compute_units;
    system = analysis::system_facts_of("nowhere/set", members, findings);
    system.description = description;
    system.compute_units = units;
  }
  analysis::comparison::Side& get() { return side_; }
  analysis::RunFacts& run(std::size_t index) { return facts_.at(index); }
  analysis::SystemFacts system;

 private:
  std::deque<analysis::RunFacts> facts_;
  analysis::comparison::Side side_;
};

inline analysis::comparison::RunComparison compared(
    Side& first, Side& second, const analysis::comparison::ComparisonOptions& options = {}) {
  return analysis::comparison::compare_runs(first.get(), {&second.get()}, options).at(0);
}

}  // namespace made
