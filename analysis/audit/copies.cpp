// Audit of several sets: the same runs, curves or seeds in several places.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "analysis/audit/across.h"
#include "analysis/side_files.h"
#include "runner/mllog/benchmarks.h"
#include "runner/mllog/record.h"

namespace analysis {
namespace {

/// Fewer equal evaluations may be chance, for curves and for logs whose times are not dates.
constexpr std::size_t kFewestEvaluations = 3;
/// Seeds drawn from some 2^15 numbers may be equal by chance, but hardly those of two runs of a set
/// and runs of one other set.
constexpr std::size_t kSuspiciousSeeds = 2;

/// One run of one set.
struct Run {
  std::size_t set = 0;
  const SetMember* member = nullptr;

  const RunFacts& facts() const { return *member->facts; }
};

/// Matches between the runs of a set and those of an earlier set.
struct Meeting {
  std::size_t runs = 0;
  std::string first, first_other;  ///< files of the first match
  std::string what;                ///< the seed that they share

  void add(const Run& run, const Run& other, const std::string& shared) {
    if (runs++ > 0) return;
    first = run.member->file_name;
    first_other = other.member->file_name;
    what = shared;
  }
};
/// Keys: the set and the earlier set.
using Meetings = std::map<std::pair<std::size_t, std::size_t>, Meeting>;

bool equal_or_nan(double one, double other) {
  return one == other || (one != one && other != other);
}

bool have_equal_results(const Evaluation& one, const Evaluation& other) {
  return equal_or_nan(one.quality, other.quality) &&
         std::ranges::equal(one.parts, other.parts, equal_or_nan);
}

bool have_equal_curves(const RunFacts& one, const RunFacts& other) {
  return std::ranges::equal(one.evaluations, other.evaluations,
                            [](const Evaluation& a, const Evaluation& b) {
                              return a.position == b.position && have_equal_results(a, b);
                            });
}

/// Whether a log has enough records to recognise its run.
bool is_recognisable(const RunFacts& facts) {
  if (!facts.run_start_ms || (!facts.run_stop_ms && facts.evaluations.empty())) return false;
  return mllog::is_date(*facts.run_start_ms) || facts.evaluations.size() >= kFewestEvaluations;
}

class CopyAudit {
 public:
  CopyAudit(std::span<const RunSet> sets, SetFindings& findings)
      : sets_(sets), findings_(findings), copied_(sets.size(), 0) {}
  std::vector<bool> judge();

 private:
  void place(const Run& run);
  bool place_run(const Run& run);
  void place_curve(const Run& run);
  void place_seeds(const Run& run);
  void add_finding();
  void report_same_runs(std::size_t set, std::size_t other, const Meeting& meeting);
  void report_resubmission(std::size_t set, std::size_t other, const std::string& text);
  std::string described(std::size_t set, std::size_t other, const Meeting& meeting,
                        const char* same) const;
  bool are_of_one_round(std::size_t set, std::size_t other) const;

  std::span<const RunSet> sets_;
  SetFindings& findings_;
  std::vector<std::size_t> copied_;  ///< runs of each set that earlier ones of its round have

  // The first of each kind of run; different runs may share a key.
  std::map<std::pair<double, double>, std::vector<Run>> by_window_;
  std::map<std::tuple<std::string, std::size_t, double, double>, std::vector<Run>> by_curve_;
  std::map<std::string, std::vector<Run>> by_seed_;  ///< with round and benchmark; one per set

  Meetings same_runs_, same_curves_, same_seeds_;
};

std::vector<bool> CopyAudit::judge() {
  std::vector<std::size_t> order(sets_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    return mllog::is_earlier_round(sets_[one].round(), sets_[other].round());
  });
  for (const std::size_t set : order) {
    for (const SetMember& member : sets_[set].members) place({set, &member});
  }
  add_finding();
  std::vector<bool> is_copy;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    is_copy.push_back(copied_[i] > 0 && copied_[i] == sets_[i].members.size());
  }
  return is_copy;
}

/// A copied run shares its curve and seeds, too, which adds no information.
void CopyAudit::place(const Run& run) {
  if (place_run(run)) return;
  place_curve(run);
  place_seeds(run);
}

bool CopyAudit::place_run(const Run& run) {
  if (!is_recognisable(run.facts())) return false;
  std::vector<Run>& held =
      by_window_[{*run.facts().run_start_ms, run.facts().run_stop_ms.value_or(-1.0)}];
  const auto same = std::ranges::find_if(
      held, [&](const Run& one) { return are_of_one_run(one.facts(), run.facts()); });
  if (same == held.end()) {
    held.push_back(run);
    return false;
  }
  same_runs_[{run.set, same->set}].add(run, *same, "");
  if (are_of_one_round(run.set, same->set)) ++copied_[run.set];
  return true;
}

void CopyAudit::place_curve(const Run& run) {
  const std::vector<Evaluation>& curve = run.facts().evaluations;
  if (curve.size() < kFewestEvaluations) return;
  const double first = curve.front().quality, last = curve.back().quality;
  if (first != first || last != last) return;  // a NaN has no place in the order of keys
  std::vector<Run>& held = by_curve_[{sets_[run.set].facts->benchmark, curve.size(), first, last}];
  const auto same = std::ranges::find_if(
      held, [&](const Run& one) { return have_equal_curves(one.facts(), run.facts()); });
  if (same == held.end()) {
    held.push_back(run);
  } else {
    same_curves_[{run.set, same->set}].add(run, *same, "");
  }
}

void CopyAudit::place_seeds(const Run& run) {
  const RunSet& set = sets_[run.set];
  const std::string submission = set.submission();
  if (submission.empty()) return;
  std::set<std::size_t> met;  // sets that this run was matched with
  for (const std::string& seed : run.facts().seeds) {
    const std::string key =
        fmt::format("{} {} {} {}", set.usage(), set.round(), set.facts->benchmark, seed);
    std::vector<Run>& held = by_seed_[key];
    for (const Run& one : held) {
      if (sets_[one.set].submission() == submission || !met.insert(one.set).second) continue;
      same_seeds_[{run.set, one.set}].add(run, one, seed);
    }
    const bool is_told =
        std::ranges::any_of(held, [&](const Run& one) { return one.set == run.set; });
    if (!is_told) held.push_back(run);
  }
}

bool CopyAudit::are_of_one_round(std::size_t set, std::size_t other) const {
  return sets_[set].round() == sets_[other].round();
}

/// "3 of 5 logs have the same runs as those in other: first result_1.txt and result_7.txt".
std::string CopyAudit::described(std::size_t set, std::size_t other, const Meeting& meeting,
                                 const char* same) const {
  const std::string place = set == other ? "others here" : "logs in " + sets_[other].name;
  return fmt::format("{} of {} logs {} {}: first {} and {}", meeting.runs,
                     sets_[set].members.size(), same, place, meeting.first, meeting.first_other);
}

void CopyAudit::add_finding() {
  for (const auto& [place, meeting] : same_runs_) {
    report_same_runs(place.first, place.second, meeting);
  }
  for (const auto& [place, meeting] : same_curves_) {
    findings_.add_finding(place.first, Rule::kCurveRepeated,
                          described(place.first, place.second, meeting,
                                    "have the same results at every evaluation as"));
  }
  for (const auto& [place, meeting] : same_seeds_) {
    const Rule rule = meeting.runs < kSuspiciousSeeds ? Rule::kSeedOfOthers : Rule::kSeedsOfOthers;
    findings_.add_finding(
        place.first, rule,
        described(place.first, place.second, meeting, "share seeds with") + ", " + meeting.what);
  }
}

void CopyAudit::report_same_runs(std::size_t set, std::size_t other, const Meeting& meeting) {
  const std::string text = described(set, other, meeting, "are of the same runs as");
  if (are_of_one_round(set, other)) {
    findings_.add_finding(set, Rule::kRunRepeated, text);
  } else {
    report_resubmission(set, other, text);
  }
}

/// Empty, with `problem` set, if the description cannot be read.
std::map<std::string, std::string> members_of(const DescribedSystem& system, std::string& problem) {
  std::map<std::string, std::string> members;
  std::string reason;
  if (const auto text = read_side_text(system.path, reason)) {
    for (auto& member : flat_members(side_object(*text, reason))) members.insert(member);
  }
  if (!reason.empty()) problem = system.path.string() + ": " + reason;
  return members;
}

/// Members in which the two descriptions differ, or why they cannot be compared; "" if equal.
std::string difference_of(const DescribedSystem& one, const DescribedSystem& other) {
  constexpr std::size_t kShown = 3;
  std::string problem;
  const auto first = members_of(one, problem), second = members_of(other, problem);
  if (!problem.empty()) return "cannot be compared: " + problem;
  std::set<std::string> differing;
  for (const auto& [name, value] : first) {
    const auto found = second.find(name);
    if (found == second.end() || found->second != value) differing.insert(name);
  }
  for (const auto& [name, value] : second) {
    if (!first.contains(name)) differing.insert(name);
  }
  if (differing.empty()) return "";
  const auto shown = std::ranges::next(differing.begin(), kShown, differing.end());
  return fmt::format("differ in {}{}", fmt::join(differing.begin(), shown, ", "),
                     shown == differing.end() ? "" : ", ...");
}

void CopyAudit::report_resubmission(std::size_t set, std::size_t other, const std::string& text) {
  const std::string where =
      fmt::format("{}, of {}-{}", text, sets_[other].usage(), sets_[other].round());
  const std::string difference =
      difference_of(sets_[set].facts->description, sets_[other].facts->description);
  if (difference.empty()) {
    findings_.add_finding(set, Rule::kRunResubmitted,
                          where + "; the descriptions of the system are equal");
  } else {
    findings_.add_finding(set, Rule::kResubmissionDiffers,
                          where + "; the descriptions of the system " + difference);
  }
}

}  // namespace

bool are_of_one_run(const RunFacts& one, const RunFacts& other) {
  return is_recognisable(one) && one.run_start_ms == other.run_start_ms &&
         one.run_stop_ms == other.run_stop_ms &&
         std::ranges::equal(one.evaluations, other.evaluations,
                            [](const Evaluation& a, const Evaluation& b) {
                              return a.time_ms == b.time_ms && have_equal_results(a, b);
                            });
}

std::vector<bool> audit_copies(std::span<const RunSet> sets, SetFindings& findings) {
  return CopyAudit(sets, findings).judge();
}

}  // namespace analysis
