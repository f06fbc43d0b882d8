// What only several sets of runs together show: the same runs, or the same seeds, in more than one
// place, and results far from those of equal machines. Hides how sets are matched.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/systems.h"

namespace analysis {

/// The runs of one folder. All of it outlives this.
struct RunSet {
  std::string name;              ///< of the folder in the report
  std::filesystem::path folder;  ///< from the root on
  const SystemFacts* facts = nullptr;
  std::vector<SetMember> members;  ///< by file name, numbers by value

  /// Of the facts of its first run; "" without one.
  std::string round() const;
  std::string usage() const;  ///< of its benchmark: "training", "hpc"; "" where it is not known
  /// The folder that holds results/ around it; "" where none does.
  std::string submission() const;
};

/// Findings of each set, in the order of `sets`; one that names two sets is told of the later one,
/// by round, then by place in `sets`.
std::vector<std::vector<Finding>> audit_across(std::span<const RunSet> sets);

/// Whether two logs are of one run: run_start, run_stop and every evaluation have the same times,
/// and the evaluations the same results. Headers and all other records may differ.
bool are_of_one_run(const RunFacts& one, const RunFacts& other);

/// What audit_across() collects for each set.
class SetFindings {
 public:
  explicit SetFindings(std::size_t sets) : all_(sets) {}
  void tell(std::size_t set, Rule rule, std::string text) {
    all_[set].push_back(make_finding(rule, {}, std::move(text)));
  }
  std::vector<std::vector<Finding>> take() && { return std::move(all_); }

 private:
  std::vector<std::vector<Finding>> all_;
};

// The parts, each in its own file.

/// Runs and seeds in several places. Returns for each set whether all of its runs are those of an
/// earlier set of its round.
std::vector<bool> audit_copies(std::span<const RunSet> sets, SetFindings& findings);
/// Results far from those of other submissions on equal machines; `is_copy`: of audit_copies().
void audit_results(std::span<const RunSet> sets, const std::vector<bool>& is_copy,
                   SetFindings& findings);

}  // namespace analysis
