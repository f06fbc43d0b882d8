// Audit of several sets of runs together: runs or seeds that occur in more than one place, and
// results far from those of equal machines.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/audit_rules.h"
#include "analysis/systems.h"

namespace analysis {

/// The runs of one folder. What it points to must outlive it.
struct RunSet {
  std::string name;              ///< of the folder in the report
  std::filesystem::path folder;  ///< absolute
  const SystemFacts* facts = nullptr;
  std::vector<SetMember> members;  ///< in natural_less() order of file names

  /// The round of the first run; "" without runs.
  std::string round() const;
  std::string usage() const;  ///< of its benchmark: "training", "hpc"; "" if unknown
  /// The folder of the submission, see submission_around(); "" if there is none.
  std::string submission() const;
};

/// Findings of each set, in the order of `sets`. A finding about two sets is reported for the later
/// one, by round, then by place in `sets`.
std::vector<std::vector<Finding>> audit_across(std::span<const RunSet> sets);

/// Whether two logs are of one run: run_start, run_stop and every evaluation have the same times,
/// and the evaluations the same results. Headers and all other records may differ.
bool are_of_one_run(const RunFacts& one, const RunFacts& other);

/// Collects the findings of each set.
class SetFindings {
 public:
  explicit SetFindings(std::size_t sets) : all_(sets) {}
  void add_finding(std::size_t set, Rule rule, std::string text) {
    all_[set].push_back(make_finding(rule, {}, std::move(text)));
  }
  std::vector<std::vector<Finding>> take() && { return std::move(all_); }

 private:
  std::vector<std::vector<Finding>> all_;
};

// The parts, each in its own file.

/// Finds runs, curves and seeds that occur in several places. Returns for each set whether earlier
/// sets of its round have all of its runs.
std::vector<bool> audit_copies(std::span<const RunSet> sets, SetFindings& findings);
/// Finds results far from those of other submissions on equal machines. `is_copy`: the result of
/// audit_copies().
void audit_results(std::span<const RunSet> sets, const std::vector<bool>& is_copy,
                   SetFindings& findings);

}  // namespace analysis
