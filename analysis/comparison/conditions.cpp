// Conditions in which two sides of a comparison differ.
#include "analysis/comparison/conditions.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "runner/mllog/keys.h"

namespace analysis::comparison {
namespace {

namespace keys = mllog::keys;

class Differences {
 public:
  void add(const std::string& what, const std::string& first, const std::string& second) {
    if (first == second) return;
    const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
    list_.push_back({what, known(first), known(second)});
  }
  std::vector<ConditionDifference> take() { return std::move(list_); }

 private:
  std::vector<ConditionDifference> list_;
};

/// The different values of the runs of a side, "64" or "64, 128".
template <class Read>
std::string over_runs(const Side& side, const Read& read) {
  std::set<std::string> values;
  for (const RunInSide& run : side.runs) {
    const std::string value = read(*run.facts);
    if (!value.empty()) values.insert(value);
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string logged(const Side& side, const std::string& key) {
  return over_runs(side, [&](const RunFacts& facts) { return facts.config_text(key); });
}

std::string division_of(const Side& side) {
  const std::string& described = side.system->description.division;
  return described.empty() ? logged(side, keys::kSubmissionDivision) : described;
}

std::string target_of(const RunFacts& facts) {
  if (!facts.target_value()) return "";
  return fmt::format("{} {}", facts.metric, to_text(*facts.target_value()));
}

std::string time_unit_of(const RunFacts& facts) {
  return facts.other_unit.value_or("milliseconds since 1970");
}

std::string staging_of(const RunFacts& facts) {
  if (!facts.parts.staging_s) return "not logged";
  if (*facts.parts.staging_s < kLeastStagingS) {
    return fmt::format("logged, but shorter than {} s: nothing was copied", kLeastStagingS);
  }
  const double before = *facts.parts.staging_s - facts.parts.staging_in_run_s.value_or(0.0);
  return before < kLeastStagingS ? "within the run" : "before the run, at least in part";
}

std::string evaluation_of(const RunFacts& facts) {
  if (facts.parts.async_eval) return "beside the training";
  return facts.parts.eval_s ? "between or within epochs" : "not marked";
}

/// "7 of 10", or "none" whatever the number of runs, so that 0 of 10 and 0 of 5 do not differ.
std::string failures_of(const Side& side) {
  if (side.system->failed == 0) return "none";
  return fmt::format("{} of {}", side.system->failed, side.system->runs);
}

std::string score_of(const Side& side) {
  if (side.system->olympic_mean_s) return "mean without the fastest and the slowest run";
  return side.system->weak ? "instances trained at the same time" : "none";
}

std::string number_text(const std::optional<double>& value) {
  return value ? to_text(whole_if_possible(value)) : "";
}

using Members = std::map<std::string, std::string>;

/// Members of all runs of a side; absent values for those that vary among runs, such as the seed.
using SideMembers = std::map<std::string, std::optional<std::string>>;

template <class Read>
SideMembers members_of(const Side& side, const Read& read) {
  SideMembers all;
  for (const RunInSide& run : side.runs) {
    for (const auto& [name, value] : read(run)) {
      const auto [at, is_new] = all.emplace(name, value);
      if (!is_new && at->second != value) at->second.reset();
    }
  }
  return all;
}

/// Adds the members of one or both sides that differ, ordered by name.
void add_members(Differences& differences, const std::string& of, const SideMembers& first,
                 const SideMembers& second) {
  if (first.empty() || second.empty()) return;
  SideMembers all = first;
  all.insert(second.begin(), second.end());
  const std::optional<std::string> none = "none";
  for (const auto& [name, value] : all) {
    const auto one = first.find(name), other = second.find(name);
    const auto& left = one == first.end() ? none : one->second;
    const auto& right = other == second.end() ? none : other->second;
    if (left && right) differences.add(of + name, *left, *right);
  }
}

const Members& settings_of(const RunInSide& run) { return run.settings; }

Members provenance_of(const RunInSide& run) {
  if (!run.telemetry) return {};
  return {run.telemetry->provenance.begin(), run.telemetry->provenance.end()};
}

}  // namespace

std::vector<ConditionDifference> unequal_conditions(const Side& first, const Side& second) {
  Differences differences;
  const auto both = [&](const std::string& what, const auto& read) {
    differences.add(what, read(first), read(second));
  };
  const auto of_runs = [&](const std::string& what, const auto& read) {
    differences.add(what, over_runs(first, read), over_runs(second, read));
  };
  both("round", [](const Side& side) { return side.round; });
  both("division", division_of);
  for (const char* const key :
       {keys::kGlobalBatchSize, keys::kTrainSamples, keys::kEvalSamples, keys::kOptName}) {
    both(key, [key](const Side& side) { return logged(side, key); });
  }
  of_runs("quality target", target_of);
  of_runs("time_ms", time_unit_of);
  of_runs("staging", staging_of);
  of_runs("evaluation", evaluation_of);
  both("score", score_of);
  both("scaling factor of the review",
       [](const Side& side) { return number_text(side.system->scaling_factor); });
  both("failed runs", failures_of);
  return differences.take();
}

std::vector<ConditionDifference> other_differences(const Side& first, const Side& second) {
  Differences differences;
  const auto both = [&](const std::string& what, const auto& read) {
    differences.add(what, read(first), read(second));
  };
  both("submitter", [](const Side& side) { return logged(side, keys::kSubmissionOrg); });
  both("platform", [](const Side& side) { return logged(side, keys::kSubmissionPlatform); });
  both("hardware of a node", [](const Side& side) { return side.system->hardware(); });
  both("nodes", [](const Side& side) { return number_text(side.nodes()); });
  both("units", [](const Side& side) { return number_text(side.system->compute_units); });
  both("ranks", [](const Side& side) { return logged(side, keys::kNumberOfRanks); });
  both("precision", [](const Side& side) { return side.system->disclosed.precision; });
  both("parallelism", [](const Side& side) { return side.system->disclosed.parallelism; });
  both("micro batch", [](const Side& side) { return logged(side, keys::kMicroBatchSize); });
  add_members(differences, "config ", members_of(first, settings_of),
              members_of(second, settings_of));
  add_members(differences, "", members_of(first, provenance_of), members_of(second, provenance_of));
  return differences.take();
}

std::vector<std::string> differing_conditions(std::span<const char* const> names,
                                              const std::map<std::string, std::string>& first,
                                              const std::map<std::string, std::string>& second) {
  const auto value_in = [](const std::map<std::string, std::string>& conditions, const char* name) {
    const auto found = conditions.find(name);
    return found == conditions.end() ? std::string("none") : found->second;
  };
  std::vector<std::string> differences;
  for (const char* const name : names) {
    const std::string before = value_in(first, name), now = value_in(second, name);
    if (before != now) differences.push_back(fmt::format("{}: {} and {}", name, before, now));
  }
  return differences;
}

}  // namespace analysis::comparison
